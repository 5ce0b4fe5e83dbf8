// The latest answers of the providers and of the network's own resolvers about the same names, on the network in use.
// `SplitHorizon` finds in them the names that only this network has. No decision about an answer reads them.
//
// Invariant: `index` has every entry of `entries` once.

import DNSWire

struct ComparedNames {
    /// The latest answer of a source for one address family of a name.
    struct Statement {
        let source: Source
        let type: RecordType
        /// The source is a resolver of the network: the system resolver, or a nameserver of its own names.
        let isLocal: Bool
        /// The source refuses the name by a filter, or could not validate it: its answer says nothing about the name.
        let isBlock: Bool
        let kind: Answer.Kind
        /// The first addresses as received.
        let addresses: [Address]
        let answeredAt: Instant
        /// Time of the first of the answers of this kind in a row, and its TTL.
        fileprivate(set) var since: Instant
        fileprivate(set) var firstTTLSeconds: UInt32

        /// Whether the source has said the same for so long that it did not repeat a cached answer.
        var isConfirmed: Bool {
            answeredAt - since >= max(.seconds(Int64(firstTTLSeconds)), Bounds.splitConfirmation)
        }
    }

    /// The latest verdict on an address of a name.
    struct Judged {
        let address: Address
        var verdict: Verdict
        /// The first of the bad verdicts in a row; nil: the latest is not bad.
        var badSince: Instant?
        var judgedAt: Instant

        /// Whether the address is bad, and was so for longer than an outage of one server mostly lasts.
        var isLastinglyBad: Bool { badSince.map { judgedAt - $0 >= Bounds.splitBadFor } ?? false }
    }

    struct Entry {
        let name: Name
        fileprivate(set) var touchedAt: Instant
        /// A provider has given usable addresses.
        fileprivate(set) var isPublic = false
        /// A probe has verified an address that a provider gave.
        fileprivate(set) var isVerifiedElsewhere = false
        /// Queries of clients, each counted at its lookup or at the refresh of the cached answer.
        fileprivate var asks: UInt8 = 0
        fileprivate var askedAt: Instant?
        /// When the system resolver may be asked again for A and for AAAA.
        fileprivate var compareAt: [RecordType: Instant] = [:]
        fileprivate(set) var statements: [Statement] = []
        fileprivate(set) var judged: [Judged] = []

        var local: [Statement] { statements.filter(\.isLocal) }
        var elsewhere: [Statement] { statements.filter { !$0.isLocal } }
        var isBlocked: Bool { statements.contains(where: \.isBlock) }
        /// Whether a resolver of the network has addresses.
        var hasLocal: Bool { statements.contains { $0.isLocal && $0.kind == .records } }
        var isDenied: Bool { statements.contains { !$0.isLocal && $0.kind != .records } }

        func verdict(on address: Address) -> Verdict {
            judged.first { $0.address == address }?.verdict ?? .unprobed
        }
    }

    /// Addresses that the system resolver invents for names that do not exist; empty if it has invented none.
    struct Control {
        let addresses: [Address]
        let answeredAt: Instant
    }

    private(set) var entries: [Entry] = []
    private(set) var controls: [RecordType: Control] = [:]
    private var index = HashIndex()
    private var hand = 0

    // MARK: events

    /// Records an answer about a name.
    ///
    /// - Parameters:
    ///   - answer: the answer as received.
    ///   - isUsable: the answer has addresses that a public name may have, or no address.
    ///   - isLocal: as in `Statement`.
    ///   - isPublic: a provider's records of the name are known from before.
    ///   - isRouted: the settings send the name to a resolver of the network, so that it is not to be found.
    ///   - isAsked: a client waits for the answer.
    ///   - includesPublic: every name that providers have is compared.
    /// - Returns: whether the answer was recorded. Most names have nothing to compare.
    mutating func heard(
        _ question: Question, _ answer: Answer, isUsable: Bool, from source: Source,
        isPublic: @autoclosure () -> Bool, isLocal: Bool, isRouted: @autoclosure () -> Bool, isAsked: Bool,
        includesPublic: Bool, now: Instant
    ) -> Bool {
        let isBlock = !isLocal && (!isUsable || answer.remark?.isAboutName == true)
        // An expired answer (RFC 8914 sections 4.4 and 4.20) says nothing about the present.
        if isLocal, let code = answer.remark?.code, code == 3 || code == 19 { return false }
        let known = number(of: question.name)
        if known == nil {
            // Providers have the name, and no resolver of the network was heard.
            let isOrdinary = !isLocal && !isBlock && answer.kind != .noSuchName
            if isOrdinary, !includesPublic, answer.kind == .records || isPublic() { return false }
            guard !isRouted() else { return false }
        }
        let number = known ?? add(question.name, isPublic: isPublic(), now: now)
        entries[number].touchedAt = now
        if isAsked { entries[number].asked(now: now) }
        if !isLocal, !isBlock, answer.kind == .records { entries[number].isPublic = true }
        if !isLocal, !isBlock, answer.kind != .noSuchName, entries[number].isPublic, !entries[number].hasLocal {
            if !entries[number].statements.isEmpty { entries[number].statements.removeAll { !$0.isBlock } }
            return false
        }
        let addresses = answer.addresses.atMost(Bounds.maxComparedAddresses)
        if !isLocal, addresses.contains(where: { entries[number].verdict(on: $0) == .verified }) {
            entries[number].isVerifiedElsewhere = true
        }
        entries[number].take(
            Statement(
                source: source, type: question.type, isLocal: isLocal, isBlock: isBlock, kind: answer.kind,
                addresses: addresses, answeredAt: now, since: now, firstTTLSeconds: answer.ttlSeconds))
        return true
    }

    /// Records that a client got the cached answer: a refresh may keep it fresh, so that no lookup has a client.
    mutating func asked(_ question: Question, now: Instant) {
        guard question.clients.view == 0, let number = number(of: question.name) else { return }
        entries[number].asked(now: now)
    }

    /// Records a probe's verdict.
    mutating func found(_ target: ProbeTarget, _ verdict: Verdict, now: Instant) {
        guard verdict != .unprobed, let number = number(of: target.name), entries[number].hasLocal else { return }
        entries[number].judge(target.address, verdict, now: now)
    }

    /// Records the system resolver's answer about a name that does not exist.
    mutating func controlled(_ type: RecordType, _ answer: Answer, now: Instant) {
        // One that does not exist is answered from a pool, of which each answer may show another part.
        let known = controls[type]?.addresses ?? []
        let new = answer.addresses.filter { !known.contains($0) }
        let addresses = answer.addresses.isEmpty ? [] : Array((new + known).prefix(Bounds.maxComparedAddresses))
        controls[type] = Control(addresses: addresses, answeredAt: now)
    }

    /// Forgets the answers of removed providers.
    mutating func keep(_ providers: [ProviderTraits]) {
        for number in entries.indices {
            entries[number].statements.removeAll { statement in
                !statement.isLocal && !providers.contains { $0.id == statement.source.ranked }
            }
        }
    }

    /// Forgets the local answers since an instant: a portal gave them.
    mutating func forgetLocal(since instant: Instant) {
        for number in entries.indices where entries[number].local.contains(where: { $0.answeredAt >= instant }) {
            entries[number].statements.removeAll { $0.isLocal && $0.answeredAt >= instant }
            entries[number].compareAt = [:]
        }
        controls = controls.filter { $0.value.answeredAt < instant }
    }

    // MARK: comparisons

    /// Whether the system resolver is to be asked the question as well: all providers that were asked deny the name,
    /// or it was not compared lately.
    ///
    /// - Parameter includesPublic: also a name that providers have.
    func isComparisonDue(_ question: Question, includesPublic: Bool, now: Instant) -> Bool {
        guard let number = number(of: question.name), entries[number].asks >= Bounds.asksWorthComparing,
            !entries[number].isBlocked, includesPublic || !entries[number].isPublic,
            entries[number].compareAt[question.type].map({ $0 <= now }) ?? true
        else { return false }
        // A name with an IPv4 address is found by it.
        return question.type == .a
            || entries[number].local.contains { $0.type == .a && $0.kind != .records }
    }

    /// Records that the system resolver is asked.
    mutating func compared(_ question: Question, now: Instant) {
        guard let number = number(of: question.name) else { return }
        entries[number].compareAt[question.type] = now + Bounds.comparisonPause
    }

    /// Sets when the system resolver is asked again: soon for an answer that is not confirmed yet.
    mutating func scheduleComparison(_ question: Question, now: Instant) {
        guard let number = number(of: question.name),
            let local = entries[number].local.first(where: { $0.type == question.type })
        else { return }
        let isOpen = local.kind == .records && !local.isConfirmed && !entries[number].agrees
        let confirmed = local.since + .seconds(Int64(local.firstTTLSeconds))
        entries[number].compareAt[question.type] =
            isOpen
            ? max(now + Bounds.splitConfirmation, min(confirmed, now + Bounds.comparisonRest))
            : now + Bounds.comparisonRest
    }

    /// Whether a name was found that needs to be told from an invented one, and no invented name was asked lately.
    func isControlDue(_ question: Question, now: Instant) -> Bool {
        guard let number = number(of: question.name), entries[number].hasLocal, !entries[number].isBlocked,
            entries[number].isDenied || !entries[number].elsewhere.isEmpty && entries[number].isPrivateHere
        else { return false }
        return controls[question.type].map { now - $0.answeredAt >= Bounds.controlLife } ?? true
    }

    // MARK: networks

    /// The entries that are worth remembering for the return to this network.
    var remembered: ComparedNames {
        var kept = ComparedNames()
        kept.controls = controls
        let latest = entries.filter(\.hasLocal).sorted { $0.touchedAt > $1.touchedAt }.prefix(Bounds.maxPastNames)
        for entry in latest {
            kept.index.add(kept.entries.count, hash: entry.name.indexHash)
            kept.entries.append(entry)
        }
        return kept
    }

    // MARK: table

    private func number(of name: Name) -> Int? { index.number(name.indexHash) { entries.span[$0].name == name } }

    private mutating func add(_ name: Name, isPublic: Bool, now: Instant) -> Int {
        let new = Entry(name: name, touchedAt: now, isPublic: isPublic)
        let number: Int
        if entries.count < Bounds.maxComparedNames {
            number = entries.count
            entries.append(new)
        } else {
            number = leastNeeded()
            index.remove(number, hash: entries[number].name.indexHash)
            entries[number] = new
        }
        index.add(number, hash: name.indexHash)
        return number
    }

    /// Returns the entry to evict from a rotating sample. Names with nothing to compare go first, those of the network
    /// last.
    private mutating func leastNeeded() -> Int {
        var (least, lowest) = (hand, priority(hand))
        for _ in 0..<Bounds.comparedNamesSample {
            hand = (hand + 1) % entries.count
            let priority = priority(hand)
            if (priority, entries[hand].touchedAt) < (lowest, entries[least].touchedAt) {
                (least, lowest) = (hand, priority)
            }
        }
        hand = (hand + 1) % entries.count
        return least
    }

    private func priority(_ number: Int) -> Int {
        entries[number].hasLocal ? 2 : entries[number].statements.isEmpty ? 0 : 1
    }
}

extension ComparedNames.Entry {
    /// Whether a provider gives an address that the network gives, too.
    var agrees: Bool {
        let others = elsewhere.flatMap(\.addresses)
        return local.contains { $0.addresses.contains(where: others.contains) }
    }

    /// Whether a resolver of the network gives a private address.
    fileprivate var isPrivateHere: Bool { local.contains { $0.addresses.contains(where: \.isPrivate) } }

    fileprivate mutating func asked(now: Instant) {
        guard askedAt.map({ now - $0 >= Bounds.askSpacing }) ?? true else { return }
        asks = min(asks + 1, UInt8(Bounds.asksWorthComparing))
        askedAt = now
    }

    /// Replaces the source's former answer for the family.
    fileprivate mutating func take(_ new: ComparedNames.Statement) {
        var new = new
        if let former = statements.firstIndex(where: { $0.source == new.source && $0.type == new.type }) {
            if statements[former].kind == new.kind, statements[former].isBlock == new.isBlock {
                (new.since, new.firstTTLSeconds) = (statements[former].since, statements[former].firstTTLSeconds)
            }
            statements.remove(at: former)
        }
        statements.appendToShort(new)
        // The network's answers stay: without them there is nothing to compare.
        if statements.count > Bounds.maxComparedStatements,
            let oldest = statements.firstIndex(where: { !$0.isLocal })
        {
            statements.remove(at: oldest)
        }
        judged.removeAll { judged in !statements.contains { $0.addresses.contains(judged.address) } }
    }

    /// - Parameter verdict: not `unprobed`.
    fileprivate mutating func judge(_ address: Address, _ verdict: Verdict, now: Instant) {
        let isElsewhere = elsewhere.contains { $0.addresses.contains(address) }
        guard isElsewhere || local.contains(where: { $0.addresses.contains(address) }) else { return }
        if isElsewhere, verdict == .verified { isVerifiedElsewhere = true }
        let isBad = verdict.isMismatched || verdict.isDead
        guard let index = judged.firstIndex(where: { $0.address == address }) else {
            judged.append(
                ComparedNames.Judged(
                    address: address, verdict: verdict, badSince: isBad ? now : nil, judgedAt: now))
            return
        }
        judged[index].badSince = isBad ? judged[index].badSince ?? now : nil
        (judged[index].verdict, judged[index].judgedAt) = (verdict, now)
    }
}
