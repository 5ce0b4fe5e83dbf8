// Schedules requests for a list of a provider's addresses: service nodes that its vendor lists, or the addresses of its
// host name. A value without clock.

import DNSWire

struct AddressListPlan: Equatable, Sendable {
    /// The source of a list.
    enum Source: Equatable, Sendable {
        /// The vendor, over HTTP.
        case vendor
        /// Nameservers, and other providers.
        case hostName
    }

    /// Time of the next request; nil while one is in flight, or an answer with the list is awaited.
    private(set) var askAt: Instant?
    /// The addresses of the system resolver do not suffice: other providers are asked for the host name as well.
    private(set) var doubtsSystem = false
    private let source: Source
    private var askedAt: Instant?
    private var failuresInARow = 0

    /// - Parameters:
    ///   - left: the remaining lifetime of the known list; nil without a list.
    init(_ source: Source, left: Duration?, now: Instant) {
        self.source = source
        askAt = now + (left.map { max(.zero, $0) } ?? .zero)
    }

    /// Returns how long a list is used before it is requested again.
    ///
    /// - Parameter seconds: the lifetime stated with the list; nil if none was.
    static func lifetime(_ seconds: Int?, of source: Source) -> Duration {
        let (floor, usual, ceiling) = source.lifetimes
        return seconds.map { min(max(.seconds($0), floor), ceiling) } ?? usual
    }

    mutating func asked(now: Instant) {
        askAt = nil
        askedAt = now
    }

    /// The list is to come with an answer to another request.
    mutating func awaited() { askAt = nil }

    mutating func answered(for lifetime: Duration, now: Instant) {
        failuresInARow = 0
        askAt = now + lifetime
    }

    mutating func failed(now: Instant) {
        let (floor, ceiling) = source.pauses
        askAt = now + min(floor * (1 << min(failuresInARow, 6)), ceiling)
        failuresInARow += 1
    }

    /// Records that an address of the list failed.
    ///
    /// - Parameters:
    ///   - isWrongNode: the node named another node as the right one; otherwise it was unreachable or another host.
    ///   - isLast: no address of the provider works.
    mutating func addressFailed(isWrongNode: Bool, isLast: Bool, now: Instant) {
        var pause = isWrongNode ? AddressListPlan.wrongNodePause : AddressListPlan.unreachablePause
        if source == .hostName {
            guard isLast else { return }
            // The other sources have not been asked yet.
            pause = doubtsSystem ? AddressListPlan.wrongNodePause : .zero
            doubtsSystem = true
        }
        guard let planned = askAt else { return }
        askAt = min(planned, max(now, askedAt.map { $0 + pause } ?? now))
    }

    /// Requests a list at once: lists of another network may have other addresses, nearer ones for example. Ends a
    /// request in flight.
    mutating func networkChanged(now: Instant) {
        failuresInARow = 0
        doubtsSystem = false
        let pause = source == .vendor ? AddressListPlan.networkPause : .zero
        askAt = max(now, askedAt.map { $0 + pause } ?? now)
    }

    /// Minimum interval between requests for the list after failures of its addresses.
    private static let wrongNodePause: Duration = .seconds(30)
    private static let unreachablePause: Duration = .seconds(300)
    /// Minimum interval between requests to a vendor while the network changes often.
    private static let networkPause: Duration = .seconds(10)
}

extension AddressListPlan.Source {
    /// Alibaba requires an update every 8 hours, and Tencent's lists last from a minute to a day (providers.md 1.7 and
    /// 2.4). A host name's TTL may be 0, or belong to a forged answer.
    fileprivate var lifetimes: (floor: Duration, usual: Duration, ceiling: Duration) {
        switch self {
        case .vendor: (.seconds(60), .seconds(8 * 3600), .seconds(24 * 3600))
        case .hostName: (.seconds(60), .seconds(600), .seconds(3600))
        }
    }

    /// Pause after a failure, doubling from the first to the second value.
    fileprivate var pauses: (floor: Duration, ceiling: Duration) {
        switch self {
        case .vendor: (.seconds(60), .seconds(3600))
        case .hostName: (.seconds(1), .seconds(30))
        }
    }
}
