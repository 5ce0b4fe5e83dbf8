// The addresses that the kernel's sets have, and those that wait to be sent there. Decides; sends nothing.

package import DNSWire

/// Invariants: an address waits for a set only if the set is ready. At most one request is unanswered, so that the next
/// one gathers what comes meanwhile. `known` has each element that waits, is sent or was added, with its end.
package struct SetElements {
    package struct Counts: Equatable, Sendable {
        /// Elements that the helper added or prolonged.
        package var added: UInt64 = 0
        /// Elements that nftables refused.
        package var failed: UInt64 = 0
        /// Elements that were not sent: the set was not ready, or a table was full.
        package var dropped: UInt64 = 0
        package var requests: UInt64 = 0

        package init() {}
    }

    private struct Target {
        let set: AddressSet
        /// The type of the addresses that rules want in the set, if all of them want one type.
        let recordType: RecordType?
        /// The state of the set; nil: not known yet.
        var state: SetState?
        var stateIsAsked = false
        /// The addresses that wait to be sent, in the order of their arrival.
        var waiting: [Address] = []
    }

    private struct Key: Hashable {
        let target: Int
        let address: Address
    }

    private struct Element {
        /// The end of the element, as far as the daemon knows.
        var end: Instant
        var isWaiting: Bool
    }

    private struct Sent {
        let number: UInt32
        let target: Int
        let addresses: [Address]
        let at: Instant
    }

    /// Bound on `known`: about 5 MiB.
    static let maxKnown = 65_536
    package static let maxWaiting = 16_384
    /// Interval at which a set that was not ready is asked for again; the helper reports most changes at once.
    private static let recheck: Duration = .seconds(30)
    /// The first interval. The settings that name the set may just have been written, and the helper reads them once a
    /// second.
    private static let firstRecheck: Duration = .seconds(2)
    /// Time limit of a reply. nftables takes milliseconds for a request, seconds on a machine that is overloaded.
    private static let patience: Duration = .seconds(10)

    private var targets: [Target] = []
    private var indexOfSet: [AddressSet: Int] = [:]
    private var known: [Key: Element] = [:]
    /// `known` is rid of ended elements when it has grown to this.
    private var sweepAt = 1024
    private var sweptAt: Instant?
    private var unanswered: Sent?
    private var nextNumber: UInt32 = 1
    private var recheckAt: Instant?
    private var hasRechecked = false
    private(set) package var waitingCount = 0
    private(set) package var counts = Counts()

    package init() {}

    package var sets: [AddressSet] { targets.map(\.set) }

    package func state(of set: AddressSet) -> SetState? { indexOfSet[set].flatMap { targets[$0].state } }

    /// Whether there is a request to send now.
    package var hasRequest: Bool { unanswered == nil && (waitingCount > 0 || targets.contains { !$0.stateIsAsked }) }

    /// When the helper has not answered for too long.
    package var answerDueAt: Instant? { unanswered.map { $0.at + SetElements.patience } }

    package var nextDeadline: Instant? { Instant.earliest(recheckAt, answerDueAt) }

    /// The fault of the set, and the remedy; nil: none, or its state is not known yet.
    package func fault(of set: AddressSet) -> String? {
        guard let target = indexOfSet[set].map({ targets[$0] }) else { return nil }
        return target.state?.fault(of: set, for: target.recordType)
    }

    /// Replaces the sets and forgets everything about the former ones.
    package mutating func configure(_ requested: [AddressSetTarget]) {
        (targets, indexOfSet) = ([], [:])
        for each in requested where indexOfSet[each.set] == nil {
            indexOfSet[each.set] = targets.count
            let types = Set(requested.filter { $0.set == each.set }.map(\.recordType))
            targets.append(Target(set: each.set, recordType: types.count == 1 ? each.recordType : nil))
        }
        forget()
    }

    /// The helper is another one, or the ruleset was changed: nothing is known about the sets.
    package mutating func forget() {
        known = [:]
        (waitingCount, unanswered, recheckAt, hasRechecked) = (0, nil, nil, false)
        targets = targets.map { Target(set: $0.set, recordType: $0.recordType) }
    }

    /// Takes an address that clients get.
    ///
    /// - Parameters:
    ///   - needed: when clients may use it last.
    ///   - until: when the element ends if it has to be added; `needed` or later.
    package mutating func add(
        _ address: Address, to target: AddressSetTarget, needed: Instant, until: Instant, now: Instant
    ) {
        guard target.recordType.map({ $0 == address.recordType }) ?? true, let index = indexOfSet[target.set] else {
            return
        }
        switch targets[index].state {
        case .ready(let type): guard type == address.recordType else { return }
        default:
            counts.dropped += 1
            return
        }
        let key = Key(target: index, address: address)
        if let former = known[key] {
            if former.end >= needed { return }
            // An address that waits already only gets a later end.
            known[key]?.end = until
            if former.isWaiting { return }
        } else if !hasRoom(now: now) {
            counts.dropped += 1
            return
        }
        guard waitingCount < SetElements.maxWaiting else {
            known[key] = nil
            counts.dropped += 1
            return
        }
        known[key] = Element(end: until, isWaiting: true)
        targets[index].waiting.append(address)
        waitingCount += 1
    }

    private mutating func hasRoom(now: Instant) -> Bool {
        guard known.count >= sweepAt else { return true }
        // A full table is not searched for every address.
        if let sweptAt, now < sweptAt + .seconds(1) { return known.count < SetElements.maxKnown }
        sweptAt = now
        known = known.filter { $0.value.end > now }
        sweepAt = min(SetElements.maxKnown, max(1024, 2 * known.count))
        return known.count < SetElements.maxKnown
    }

    /// Returns the next request; nil: there is none, or the last one is not answered.
    package mutating func takeRequest(now: Instant) -> SetRequest? {
        guard unanswered == nil else { return nil }
        if let index = targets.firstIndex(where: { !$0.stateIsAsked }) {
            targets[index].stateIsAsked = true
            return request(index, [], now: now)
        }
        guard let index = targets.firstIndex(where: { !$0.waiting.isEmpty }) else { return nil }
        let addresses = Array(targets[index].waiting.prefix(SetRequest.maxElements))
        targets[index].waiting.removeFirst(addresses.count)
        waitingCount -= addresses.count
        return request(index, addresses, now: now)
    }

    private mutating func request(_ index: Int, _ addresses: [Address], now: Instant) -> SetRequest {
        unanswered = Sent(number: nextNumber, target: index, addresses: addresses, at: now)
        nextNumber &+= 1
        counts.requests += 1
        let elements = addresses.map { address in
            let key = Key(target: index, address: address)
            known[key]?.isWaiting = false
            let left = known[key].map { now.duration(to: $0.end) } ?? .zero
            // Rounded up: an element must not end before the answer does.
            let seconds = (left + .milliseconds(999)).wholeSeconds
            let timeouts = SetElement.timeouts
            return SetElement(
                address: address,
                timeoutSeconds: min(max(UInt32(clamping: seconds), timeouts.lowerBound), timeouts.upperBound))
        }
        return SetRequest(number: nextNumber &- 1, set: targets[index].set, elements: elements)
    }

    /// Returns the set of the request that is not answered yet, if it has this number.
    package func setOfRequest(_ number: UInt32) -> AddressSet? {
        unanswered.flatMap { $0.number == number ? targets[$0.target].set : nil }
    }

    /// - Parameter refused: places of elements in the request that a set that is ready did not take.
    /// - Returns: the set whose state has changed, if one has; nil also for a reply to another request.
    package mutating func answered(
        _ number: UInt32, _ state: SetState, refused: [Int] = [], now: Instant
    ) -> AddressSet? {
        guard let sent = unanswered, sent.number == number else { return nil }
        unanswered = nil
        let index = sent.target
        if state.isReady {
            let refused = refused.filter { sent.addresses.indices.contains($0) }
            counts.failed += UInt64(refused.count)
            counts.added += UInt64(sent.addresses.count - refused.count)
            // The next answer with a refused address sends it again.
            for place in refused { forget(sent.addresses[place], of: index) }
        } else {
            counts.failed += UInt64(sent.addresses.count)
            giveUp(index)
            recheckAt = recheckAt ?? now + (hasRechecked ? SetElements.recheck : SetElements.firstRecheck)
        }
        guard targets[index].state != state else { return nil }
        targets[index].state = state
        return targets[index].set
    }

    private mutating func forget(_ address: Address, of index: Int) {
        let key = Key(target: index, address: address)
        if known[key]?.isWaiting == false { known[key] = nil }
    }

    /// The set is not ready: nothing waits for it, and none of its elements are known.
    private mutating func giveUp(_ index: Int) {
        counts.dropped += UInt64(targets[index].waiting.count)
        waitingCount -= targets[index].waiting.count
        targets[index].waiting = []
        known = known.filter { $0.key.target != index }
    }

    /// Asks again for the sets that are not ready.
    package mutating func timePassed(now: Instant) {
        guard let recheckAt, recheckAt <= now else { return }
        (self.recheckAt, hasRechecked) = (nil, true)
        for index in targets.indices where targets[index].state?.isReady == false {
            targets[index].stateIsAsked = false
        }
    }
}
