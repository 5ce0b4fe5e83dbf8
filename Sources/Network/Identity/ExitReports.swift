// Decides which carrier the network in use leads to, from the addresses that providers report for this machine. A value
// without clock and I/O.
//
// A carrier is identified by the prefix of its addresses: a /16 of IPv4, a /32 of IPv6. One provider may lie, and one
// reply may be odd. So another prefix counts once two providers have reported it, unless as many others reported the
// present prefix meanwhile. One provider is enough, after 2 s, only if no other provider can contradict it: none
// reported the present prefix within the last 5 min, and no two agree on a third prefix. Reports survive a network
// change: a provider that the others have contradicted does not convince on the next network either.

package import DNSWire

/// The known prefixes of a carrier's addresses.
package struct Carrier: Equatable, Sendable {
    package private(set) var prefixes: [Prefix] = []

    package init() {}

    /// The /16 or /32 of an address; nil for addresses that no carrier has.
    package static func prefix(of address: Address) -> Prefix? {
        address.isPrivate ? nil : Prefix(around: address, length: address.recordType == .a ? 16 : 32)
    }

    /// Replaces the prefix of the new one's family. There is at most one per family, IPv4 first.
    package mutating func set(_ prefix: Prefix) {
        let other = prefixes.filter { $0.address.recordType != prefix.address.recordType }
        prefixes = prefix.address.recordType == .a ? [prefix] + other : other + [prefix]
    }

    package func prefix(of family: RecordType) -> Prefix? { prefixes.first { $0.address.recordType == family } }
}

/// A carrier other than that of the network in use.
package struct OtherCarrier: Equatable, Sendable {
    package let prefix: Prefix
    /// The last reply that came through the former carrier. Data learned since then may be the other carrier's.
    package let since: Instant

    package init(prefix: Prefix, since: Instant) {
        self.prefix = prefix
        self.since = since
    }
}

package struct ExitReports: Sendable {
    package struct Report: Equatable, Sendable {
        /// Number of the provider.
        package let provider: Int
        package let address: Address
        package let at: Instant
        fileprivate let prefix: Prefix
        /// When the first of the consecutive replies with this prefix came, and how many there were.
        fileprivate let since: Instant
        fileprivate let count: Int
        /// When this provider last reported the present carrier.
        fileprivate var carrierAt: Instant?

        fileprivate var family: RecordType { address.recordType }
    }

    /// The last report of each provider and family, the latest last.
    private var reports: [Report] = []
    /// The confirmed prefixes of the network in use.
    package private(set) var carrier = Carrier()
    private var enteredAt: Instant
    /// When the present carrier was reported last.
    private var carrierSeenAt: Instant
    /// The instant before which no other carrier counts.
    private var heldUntil: Instant

    package init(now: Instant) {
        enteredAt = now
        carrierSeenAt = now
        heldUntil = now
    }

    /// The last report of each provider and family on the network in use, the latest last.
    package var current: [Report] { reports.filter { $0.at >= enteredAt } }

    /// - Parameter isOtherCarrier: the network changed because another carrier was confirmed.
    package mutating func entered(_ carrier: Carrier, isOtherCarrier: Bool, now: Instant) {
        for index in reports.indices {
            let prefix = carrier.prefix(of: reports[index].family)
            guard prefix != self.carrier.prefix(of: reports[index].family) else { continue }
            reports[index].carrierAt = reports[index].prefix == prefix ? reports[index].at : nil
        }
        self.carrier = carrier
        enteredAt = now
        carrierSeenAt = now
        heldUntil = isOtherCarrier ? now + NetworkBounds.carrierHold : now
    }

    /// Records an address that a provider reported. The first confirmed prefix of a family completes `carrier`.
    ///
    /// - Returns: another carrier, if it is confirmed. The caller then enters another network.
    package mutating func reported(_ address: Address, by provider: Int, now: Instant) -> OtherCarrier? {
        guard let prefix = Carrier.prefix(of: address) else { return nil }
        let index = reports.firstIndex { $0.provider == provider && $0.family == address.recordType }
        let earlier = index.map { reports.remove(at: $0) }
        let isSame = earlier?.prefix == prefix
        let report = Report(
            provider: provider, address: address, at: now, prefix: prefix,
            since: isSame ? earlier?.since ?? now : now, count: isSame ? (earlier?.count ?? 0) + 1 : 1,
            carrierAt: carrier.prefix(of: address.recordType) == prefix ? now : earlier?.carrierAt)
        reports.append(report)
        if reports.count > NetworkBounds.maxExitReports { reports.removeFirst() }
        let isConfirmed = isConfirmed(report)
        if isConfirmed, carrier.prefix(of: report.family) == nil { carrier.set(prefix) }
        if carrier.prefix(of: report.family) == prefix { carrierSeenAt = now }
        guard isConfirmed, carrier.prefix(of: report.family) != prefix, now >= heldUntil else { return nil }
        return OtherCarrier(prefix: prefix, since: carrierSeenAt)
    }

    private func isConfirmed(_ report: Report) -> Bool {
        let others = reports.filter { $0.provider != report.provider && $0.family == report.family }
        let agreeing = others.count { $0.prefix == report.prefix && $0.at >= enteredAt }
        let contradicting: Int
        if carrier.prefix(of: report.family) != nil {
            // Another provider reported the present carrier meanwhile.
            contradicting = others.count { other in other.carrierAt.map { $0 >= report.since } ?? false }
        } else {
            // A provider that reports another prefix each time contradicts nothing.
            contradicting = others.count { $0.prefix != report.prefix && $0.count > 1 && $0.at >= enteredAt }
        }
        guard agreeing == 0 else { return agreeing + 1 > contradicting }
        let begin = max(report.since, enteredAt)
        return contradicting == 0 && report.count > 1 && report.at - begin >= NetworkBounds.exitConfirmation
            && !canContradict(report, others)
    }

    /// Whether other providers may have newer information than this one. A preferred provider answers most requests, so
    /// the last reports of the others may be minutes old.
    private func canContradict(_ report: Report, _ others: [Report]) -> Bool {
        let recent = others.filter { $0.prefix != report.prefix && report.at - $0.at < NetworkBounds.carrierHold }
        return recent.contains { other in
            other.carrierAt.map { report.at - $0 < NetworkBounds.carrierHold } ?? false
                || recent.contains { $0.provider != other.provider && $0.prefix == other.prefix }
        }
    }
}
