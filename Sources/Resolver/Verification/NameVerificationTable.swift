// Bounded LRU table of what is known of names, by name and view: the addresses that a filtering view gets for a name
// are no forgery of the addresses that other clients get.
//
// Invariants: `index` has every entry of `names` once, by the name alone; `marks` has places of `names` only.

import DNSWire

/// A name as the clients of one view get it.
struct NameInView: Equatable {
    let name: Name
    /// The number of the view, as in `ClientGroup`.
    let view: UInt32

    init(_ question: Question) {
        (name, view) = (question.name, question.clients.view)
    }
}

struct NameVerificationTable {
    private(set) var names: [NameVerification] = []
    private var index = HashIndex()
    private var hand = 0
    /// When an address of a name in use is due for a probe. The next query for the name starts it.
    private var marks = DeadlineQueue()
    private(set) var evictions: UInt64 = 0

    var nextMark: Instant? { marks.earliest }

    init() {}

    /// - Parameters:
    ///   - names: unique, and at most `Bounds.maxVerifiedNames`.
    ///   - former: the former table. Its eviction count continues.
    init(_ names: [NameVerification], after former: NameVerificationTable) {
        self.names = names
        for (number, name) in names.enumerated() {
            index.add(number, hash: name.name.indexHash)
        }
        evictions = former.evictions
    }

    /// Returns the names used last, the latest first.
    func touchedLast(atMost count: Int) -> [NameVerification] {
        Array(names.sorted { $0.touchedAt > $1.touchedAt }.prefix(count))
    }

    func number(of question: Question) -> Int? {
        index.number(question.name.indexHash) {
            names[$0].key.view == question.clients.view && names[$0].name == question.name
        }
    }

    subscript(question: Question) -> NameVerification? { number(of: question).map { names[$0] } }

    /// Returns the places of a name, the one for clients without a view first.
    func numbers(of name: Name) -> [Int] {
        index.numbers(name.indexHash).filter { names[$0].name == name }
            .sorted { names[$0].key.view < names[$1].key.view }
    }

    /// Returns the place of a question's name, and adds the name if it is unknown.
    mutating func enter(_ question: Question, now: Instant) -> Int {
        if let number = number(of: question) { return number }
        let new = NameVerification(NameInView(question), now: now)
        let number: Int
        if names.count < Bounds.maxVerifiedNames {
            number = names.count
            names.append(new)
        } else {
            number = leastNeeded()
            index.remove(number, hash: names[number].name.indexHash)
            marks.remove(number)
            names[number] = new
            evictions += 1
        }
        index.add(number, hash: question.name.indexHash)
        return number
    }

    /// - Parameter body: must not change the `key` property.
    mutating func change<Result>(_ number: Int, _ body: (inout NameVerification) -> Result) -> Result {
        body(&names[number])
    }

    mutating func mark(_ number: Int, at instant: Instant?) {
        if let instant { marks.set(instant, for: number) } else { marks.remove(number) }
    }

    mutating func popMark(_ now: Instant) -> Int? { marks.popDue(now) }

    /// Returns the name to evict from a rotating sample. Names without an address go first, then names that have no
    /// verdict and await none, as scans may ask for many names once. Names with mismatched addresses, and those whose
    /// last known good answer is doubted, go last.
    private mutating func leastNeeded() -> Int {
        var (least, lowest) = (hand, priority(hand))
        for _ in 0..<Bounds.verifiedNamesSample {
            hand = (hand + 1) % names.count
            let priority = priority(hand)
            if (priority, names[hand].touchedAt) < (lowest, names[least].touchedAt) {
                (least, lowest) = (hand, priority)
            }
        }
        hand = (hand + 1) % names.count
        return least
    }

    // Reads the properties in place: a copy of a name retains all its lists.
    private func priority(_ number: Int) -> Int {
        if names[number].hasMismatched || names[number].questions.areDoubted { return 3 }
        if names[number].hasVerdict { return 2 }
        if !names[number].answers.contains(where: { !$0.addresses.isEmpty }) { return 0 }
        return names[number].questions.areInUse ? 2 : 1
    }
}
