// Orders the addresses of an answer and decides which are left out, with the reason. Replies and explanations use the
// same function. It never removes all addresses, and adds only verified ones that a rule prefers.

import DNSWire

// Each address family is ordered by itself: A answers keep an address even if only AAAA addresses are verified. A
// machine with IPv4 only would otherwise have none.
struct AddressOrder {
    struct Place: Equatable {
        let address: Address
        let place: AddressPlace
        fileprivate let rank: Rank
    }

    /// The rank of an address, best first.
    fileprivate enum Rank: Int, Comparable {
        case quickest
        case slower
        /// The address is neither verified nor known to be bad.
        case open
        /// The address is reachable, but TLS does not work as expected.
        case poor
        case unreachable
        case mismatched

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    /// The addresses to hand out, in order.
    private(set) var handedOut: [Place]
    let omitted: [Place]

    /// - Parameters:
    ///   - addresses: the addresses of one answer, in the upstream's order.
    ///   - wasVerified: an address of the name was verified at some time. Without one, certificates prove nothing.
    ///   - method: with `connection`, unreachable addresses come last and are not left out.
    init(
        _ addresses: [Address], wasVerified: Bool, method: ProbeMethod = .handshake, judgement: (Address) -> Judgement
    ) {
        let judged = addresses.map { ($0, judgement($0)) }
        guard wasVerified || method == .connection, judged.contains(where: { $0.1.verdict != .unprobed }) else {
            let isProbed = judged.contains { $0.1.verdict != .unprobed }
            let place = isProbed ? AddressPlace.asGiven : .behind
            handedOut = addresses.map { Place(address: $0, place: place, rank: .open) }
            omitted = []
            return
        }
        let quickest = judged.compactMap { $0.1.rankedTime }.min()
        let ranked = judged.map { (address: $0.0, judgement: $0.1, rank: $0.1.rank(quickest)) }
        let isAnyReachable = ranked.contains { $0.rank < .unreachable && $0.judgement.verdict != .unprobed }
        let isOpen = ranked.contains { $0.rank < .mismatched }
        let isOmitted = { (rank: Rank) in
            switch rank {
            case .quickest, .slower, .open, .poor: false
            case .unreachable: isAnyReachable && method == .handshake
            case .mismatched: isOpen
            }
        }
        let sorted = ranked.enumerated().sorted { left, right in
            if left.element.rank != right.element.rank { return left.element.rank < right.element.rank }
            if left.element.rank == .slower {
                let times = (left.element.judgement.sortTime, right.element.judgement.sortTime)
                if times.0 != times.1 { return times.0 < times.1 }
            }
            return left.offset < right.offset
        }.map(\.element)
        let placed = sorted.map {
            Place(
                address: $0.address,
                place: $0.rank.place(isOmitted: isOmitted($0.rank), isAnyReachable: isAnyReachable),
                rank: $0.rank)
        }
        handedOut = placed.filter { !isOmitted($0.rank) }
        omitted = placed.filter { isOmitted($0.rank) }
    }

    var addresses: [Address] { handedOut.map(\.address) }

    /// Returns the order with verified addresses that are quicker before all others.
    func behind(_ preferred: [Address]) -> AddressOrder {
        guard !preferred.isEmpty else { return self }
        var order = self
        order.handedOut =
            preferred.map { Place(address: $0, place: .quickest, rank: .quickest) }
            + handedOut.map {
                Place(
                    address: $0.address, place: $0.place == .quickest ? .slower : $0.place,
                    rank: max($0.rank, .slower))
            }
        return order
    }

    /// Rotates the addresses that are about equally quick, to share the load.
    mutating func rotate(_ random: inout SeededGenerator) {
        let count = handedOut.prefix { $0.rank == .quickest }.count
        guard count > 1 else { return }
        handedOut[..<count].shuffle(using: &random)
    }

    /// Returns whether this order must replace the earlier one: other addresses, or a first address, which most clients
    /// use, that is not among the best. Rotation alone is no reason.
    func isNews(to earlier: [Address]) -> Bool {
        let addresses = addresses
        guard earlier != addresses else { return false }
        guard Set(earlier) == Set(addresses), let first = earlier.first else { return true }
        return handedOut.first { $0.address == first }?.rank != handedOut.first?.rank
    }
}

extension Judgement {
    fileprivate var rankedTime: Duration? { verdict == .verified || verdict == .connected ? time : nil }

    /// An unmeasured handshake counts as slow.
    fileprivate var sortTime: Duration { time ?? .seconds(Int64.max / 2) }

    fileprivate func rank(_ quickest: Duration?) -> AddressOrder.Rank {
        switch verdict {
        case .verified, .connected:
            guard let quickest else { return .quickest }
            let limit = max(quickest * Bounds.nearQuickest, quickest + Bounds.nearQuickestMargin)
            return sortTime <= limit ? .quickest : .slower
        case .unprobed, .timeDoubtful: return .open
        case .expiredCertificate, .tlsReset, .tlsAlert, .tlsTimeout, .notTLS: return .poor
        case .refused, .unreachable, .timeout: return .unreachable
        case .nameMismatch, .untrusted: return .mismatched
        }
    }
}

extension AddressOrder.Rank {
    /// - Parameter isAnyReachable: another address is reachable.
    fileprivate func place(isOmitted: Bool, isAnyReachable: Bool) -> AddressPlace {
        switch self {
        case .quickest: .quickest
        case .slower: .slower
        case .open, .poor: .behind
        case .unreachable: isOmitted ? .omittedAsUnreachable : isAnyReachable ? .behind : .lastResort
        case .mismatched: isOmitted ? .omittedAsMismatched : .lastResort
        }
    }
}

extension Answer {
    /// Returns the answer with only these addresses, in this order, after the CNAME chain. Addresses that the answer
    /// does not have are preferred ones; `withoutPreferred` removes them.
    func with(_ addresses: [Address]) -> Answer {
        guard !hasAddresses(addresses) else { return self }
        let recordOf = Dictionary(records.compactMap { record in record.address.map { ($0, record) } }) { first, _ in
            first
        }
        let end = records.last { $0.address != nil }
        let arranged =
            records.filter { $0.address == nil }
            + addresses.compactMap { address in
                recordOf[address]
                    ?? end.map { ResourceRecord(owner: $0.owner, address: address, ttlSeconds: $0.ttlSeconds) }
            }
        let isWhole = arranged.count == records.count && addresses.allSatisfy { recordOf[$0] != nil }
        return Answer(records: arranged).authenticated(isAuthentic && isWhole).remarked(remark)
            .preferring(addresses.prefix { recordOf[$0] == nil }.count)
    }
}
