// The questions to the system resolver whose answers are compared and never given: they tell which names only this
// network has, and which addresses its resolver invents. They disclose a name to the network's resolver, so that they
// are few.

import DNSWire

struct ComparisonQuestions {
    struct Pending {
        let id: FetchID
        let question: Question
        /// The question is for an invented name.
        let isControl: Bool
    }

    /// The names that may be compared.
    var scope = NameComparison.never
    var hasSystem = false
    /// At most `Bounds.maxComparisons`.
    private var pending: [Pending] = []
    /// When the last comparisons began, at most `Bounds.comparisonsAMinute`.
    private var begun: [Instant] = []
    private var nextControlAt: [RecordType: Instant] = [:]
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// Whether there is a place for a question.
    var isOn: Bool { scope != .never && hasSystem && pending.count < Bounds.maxComparisons }

    func mayCompare(_ now: Instant) -> Bool {
        begun.count < Bounds.comparisonsAMinute || begun.first.map { now - $0 >= .seconds(60) } ?? true
    }

    func mayControl(_ type: RecordType, _ now: Instant) -> Bool { nextControlAt[type].map { $0 <= now } ?? true }

    mutating func began(_ id: FetchID, _ question: Question, isControl: Bool, now: Instant) {
        pending.append(Pending(id: id, question: question, isControl: isControl))
        if isControl {
            nextControlAt[question.type] = now + Bounds.comparisonPause
        } else {
            if begun.count >= Bounds.comparisonsAMinute { begun.removeFirst() }
            begun.append(now)
        }
    }

    /// - Returns: nil if the fetch is none of these.
    mutating func finished(_ id: FetchID) -> Pending? {
        pending.firstIndex { $0.id == id }.map { pending.remove(at: $0) }
    }

    /// Forgets the questions in flight: another network may be in use.
    ///
    /// - Returns: their fetches.
    mutating func drop() -> [FetchID] {
        nextControlAt = [:]
        return exchange(&pending, with: []).map(\.id)
    }

    /// Returns a name that does not exist. A resolver that invents answers does so for this form, even if it does so
    /// only for names of web servers.
    mutating func inventedName() -> Name {
        let letters = (0..<14).map { _ in UInt8(ascii: "a") + UInt8(random.next() % 26) }
        return Name("www.\(String(decoding: letters, as: UTF8.self)).com") ?? .root
    }
}
