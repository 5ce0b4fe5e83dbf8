// Detects when every provider fails and when one works again, for one log line each. Pure: states in, event out.

import DNSWire
import Resolver

struct ProviderOutage {
    private var startedAt: Instant?

    /// Returns the event for the log, or nil if the outage has neither begun nor ended.
    ///
    /// - Parameters:
    ///   - failures: for each provider that answers clients: its last failure if it is down or blocked, else nil.
    ///   - hasSystemResolver: a nameserver of the system may answer instead.
    mutating func changed(to failures: [FetchFailure?], hasSystemResolver: Bool, now: Instant) -> LogEvent? {
        let found = failures.compactMap { $0 }
        let isOutage = !failures.isEmpty && found.count == failures.count
        switch startedAt {
        case nil where isOutage:
            startedAt = now
            let counts = Dictionary(found.map { ($0, 1) }, uniquingKeysWith: +)
            return .providersFail(counts, hasSystemResolver: hasSystemResolver)
        case let since? where !isOutage:
            startedAt = nil
            return .providersWork(after: since.duration(to: now))
        default:
            return nil
        }
    }
}
