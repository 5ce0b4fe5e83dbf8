// How long clients waited, by where their answers came from.

import Telemetry

/// From a client's question to its answer, by where the answer came from. Hits have theirs where they are given; a few
/// come here, as their answers have come while their questions were on the way.
struct SourceLatencies {
    private(set) var cache = LatencyHistogram()
    private(set) var stale = LatencyHistogram()
    private(set) var provider = LatencyHistogram()
    private(set) var system = LatencyHistogram()

    mutating func record(_ duration: Duration, from source: FlightEvent.Source) {
        switch source {
        case .cache: cache.record(duration)
        case .stale: stale.record(duration)
        case .provider: provider.record(duration)
        case .system: system.record(duration)
        case .none, .local, .fallback, .refused, .failure, .limited: break
        }
    }
}
