// Client latencies by source of the answer.

import DNSWire
import Telemetry

/// Time from a client's question to its answer, by source. Serving threads record their own cache hits; the few here
/// arrived while their questions were in the mailbox.
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
        case .none, .local, .blocked, .fallback, .refused, .failure, .limited: break
        }
    }
}
