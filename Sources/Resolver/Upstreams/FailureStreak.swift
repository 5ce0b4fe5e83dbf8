// Consecutive failures of a provider. Decides whether they are the provider's fault: failures that one name can cause
// count once per registrable domain.

import DNSWire

struct FailureStreak {
    /// Failed connections, which no name can cause.
    private var connections = 0
    /// Domains whose requests got an unusable reply, such as HTTP 5xx.
    private var unusable: Set<Name> = []
    /// Domains whose requests timed out on a working connection.
    private var timedOut: Set<Name> = []
    private var connectionFailedAt: Instant?
    /// Start of the last attempt whose domain was counted.
    private var domainStartedAt: Instant?

    var isEmpty: Bool { connections == 0 && unusable.isEmpty && timedOut.isEmpty }

    /// Whether there are other failures than timeouts, which a slow nameserver of one domain explains.
    var isProvidersOwn: Bool { connections > 0 || !unusable.isEmpty }

    /// Adds one failure.
    ///
    /// - Parameters:
    ///   - domain: the registrable domain of the question's name.
    ///   - isTrial: the provider has failed before, so one failed connection is sufficient proof.
    ///   - startedAt: start of the attempt. Attempts that began before a counted connection failure waited for that
    ///     same connection.
    ///   - sharesRequests: attempts that began within `Bounds.gatherWithin` may be one request, and count once.
    /// - Returns: whether the provider is at fault.
    mutating func add(
        _ failure: FetchFailure, of domain: Name, isTrial: Bool, startedAt: Instant, sharesRequests: Bool, now: Instant
    ) -> Bool {
        switch failure.scope {
        case .connection:
            if let connectionFailedAt, startedAt < connectionFailedAt { return isTrial }
            connectionFailedAt = now
            connections += 1
            return isTrial || connections >= Bounds.connectionFailuresToOpen
        case .reply:
            guard isOwnRequest(startedAt, sharesRequests) else { return false }
            unusable.insert(domain)
            return unusable.count >= Bounds.unusableDomainsToOpen
        case .name:
            guard isOwnRequest(startedAt, sharesRequests) else { return false }
            timedOut.insert(domain)
            return timedOut.count >= Bounds.timedOutDomainsToOpen
        }
    }

    private mutating func isOwnRequest(_ startedAt: Instant, _ sharesRequests: Bool) -> Bool {
        if sharesRequests, let last = domainStartedAt, max(startedAt - last, last - startedAt) <= Bounds.gatherWithin {
            return false
        }
        domainStartedAt = startedAt
        return true
    }
}

extension FetchFailure {
    /// The possible cause of a failure.
    fileprivate enum Scope {
        case connection
        case reply
        case name
    }

    /// Whether the failure cannot be caused by a name.
    var isOfConnection: Bool { scope == .connection }

    fileprivate var scope: Scope {
        switch self {
        case .refused, .unreachable, .unacknowledged, .tls, .reset, .server, .account, .clock, .throttled, .overload,
            .unsupported:
            .connection
        case .status, .redirected, .garbage: .reply
        case .timeout: .name
        }
    }
}
