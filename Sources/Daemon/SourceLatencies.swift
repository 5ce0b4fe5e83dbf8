// How long clients waited, by where their answers came from.

import Resolver
import Telemetry

/// From a client's question to its answer, by where the answer came from.
struct SourceLatencies {
    private(set) var provider = LatencyHistogram()
    private(set) var system = LatencyHistogram()

    mutating func record(_ duration: Duration, from source: Source) {
        switch source {
        case .provider: provider.record(duration)
        case .system: system.record(duration)
        case .local, .fallback: break
        }
    }
}
