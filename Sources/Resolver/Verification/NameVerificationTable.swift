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
    /// The place entered last: most look-ups of an event are for one name.
    private var latest = 0
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
        if latest < names.count, isOf(question, latest) { return latest }
        return index.number(question.name.indexHash) {
            isOf(question, $0)
        }
    }

    private func isOf(_ question: Question, _ number: Int) -> Bool {
        names[number].key.view == question.clients.view && names[number].key.name == question.name
    }

    subscript(question: Question) -> NameVerification? { number(of: question).map { names[$0] } }

    /// Returns the places of a name, the one for clients without a view first.
    func numbers(of name: Name) -> [Int] {
        index.numbers(name.indexHash).filter { names[$0].name == name }
            .sorted { names[$0].key.view < names[$1].key.view }
    }

    /// Returns the place of a question's name, and adds the name if it is unknown.
    mutating func enter(_ question: Question, now: Instant) -> Int {
        if let number = number(of: question) {
            latest = number
            return number
        }
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
        latest = number
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
    /// verdict and await none, as scans may ask for many names once. Names with mismatched or preferred addresses, and
    /// those whose last known good answer is doubted, go last.
    private mutating func leastNeeded() -> Int {
        var (place, least, lowest) = (hand, hand, priority(hand))
        for _ in 0..<Bounds.verifiedNamesSample {
            place = place + 1 < names.count ? place + 1 : 0
            let priority = priority(place)
            guard priority < lowest || priority == lowest && names[place].touchedAt < names[least].touchedAt else {
                continue
            }
            (least, lowest) = (place, priority)
        }
        hand = place + 1 < names.count ? place + 1 : 0
        return least
    }

    // Reads the properties in place: a copy of a name retains all its lists.
    private func priority(_ number: Int) -> Int {
        if names[number].hasMismatched || !names[number].preferred.isEmpty { return 3 }
        let use = names[number].questions.use
        if use == .denied { return 3 }
        if names[number].hasVerdict { return 2 }
        if !names[number].answers.haveAddresses { return 0 }
        return use == .probed ? 2 : 1
    }
}
