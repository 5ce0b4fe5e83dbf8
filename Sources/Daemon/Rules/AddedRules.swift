// The rules that the operator added at run time. Uses wall time, because it is stored across restarts. Decides about no
// name.

import DNSWire
import Settings
import Store

struct AddedRule: Equatable {
    let name: Name
    /// The rule's settings as "KEY=VALUE", as the operator gave them.
    let words: [String]
    /// The end of the rule in milliseconds since 1970; nil: the rule stays until it is removed.
    let endMilliseconds: Int64?
    /// The meaning of the words.
    let rule: Settings.Rule

    /// Whether other settings may refuse the rule: its upstream may be gone, and its alias may lead back.
    var dependsOnSettings: Bool {
        switch rule.resolver {
        case nil, .httpdns, .system, .link: rule.cname != nil
        case .provider, .nameserver: true
        }
    }

    /// Returns whether the rule has run out.
    func isOver(_ nowMilliseconds: Int64) -> Bool { endMilliseconds.map { $0 <= nowMilliseconds } ?? false }

    /// The nameserver that gets the names; nil for other upstreams.
    var nameserver: String? { if case .nameserver(let name) = rule.resolver { name } else { nil } }

    /// The rule as a line for the store, with tabs between the parts. The first part has the end, "-" for none, and
    /// after a space the nameserver, if there is one.
    fileprivate var line: String {
        let end = (endMilliseconds.map { String($0) } ?? "-") + (nameserver.map { " \($0)" } ?? "")
        return ([end, name.description] + words).joined(separator: "\t")
    }

    /// Size of the line, with the line feed that a note ends it with.
    fileprivate var lineBytes: Int { line.utf8.count + 1 }
}

struct AddedRules {
    /// One rule for each name.
    private var ruleOfName: [Name: AddedRule] = [:]
    /// Size of all lines.
    private var bytes = 0

    /// Bound on rules: they are exceptions for a time; more belong in the settings.
    static let maxRules = 1000
    /// Bound on notes of the store that hold the rules. `NoteRow.maxCount` has room for so many.
    static let maxNotes = 32
    /// Bound on `bytes`. It fits the notes however the lines are divided: two adjacent notes hold more than one note's
    /// bytes.
    static let maxBytes = maxNotes / 2 * NoteRow.maxValueBytes

    /// All rules, in the order of the names.
    var all: [AddedRule] {
        ruleOfName.map { (text: $0.key.description, rule: $0.value) }.sorted { $0.text < $1.text }.map(\.rule)
    }

    /// When `expire` is due.
    var nextEndMilliseconds: Int64? { ruleOfName.values.compactMap(\.endMilliseconds).min() }

    /// Replaces the rule for the same name.
    ///
    /// - Returns: false if there is no room.
    mutating func add(_ rule: AddedRule) -> Bool {
        let former = ruleOfName[rule.name]
        let newBytes = bytes + rule.lineBytes - (former?.lineBytes ?? 0)
        guard former != nil || ruleOfName.count < Self.maxRules, newBytes <= Self.maxBytes,
            rule.lineBytes <= NoteRow.maxValueBytes
        else { return false }
        ruleOfName[rule.name] = rule
        bytes = newBytes
        return true
    }

    /// - Returns: false if there is no rule for the name.
    mutating func remove(_ name: Name) -> Bool {
        guard let rule = ruleOfName.removeValue(forKey: name) else { return false }
        bytes -= rule.lineBytes
        return true
    }

    /// Removes and returns the rules that have run out.
    mutating func expire(nowMilliseconds: Int64) -> [AddedRule] {
        let over = all.filter { $0.isOver(nowMilliseconds) }
        for rule in over { _ = remove(rule.name) }
        return over
    }
}

// The rules as texts for the store, each a note full of lines.
extension AddedRules {
    /// The names of all notes that rules may take.
    static let noteNames = (1...maxNotes).map { "rules added \($0)" }

    var notes: [String] {
        var notes: [String] = []
        var bytes = NoteRow.maxValueBytes
        for rule in all {
            if bytes + rule.lineBytes > NoteRow.maxValueBytes {
                notes.append("")
                bytes = 0
            }
            notes[notes.count - 1] += rule.line + "\n"
            bytes += rule.lineBytes
        }
        return notes
    }

    struct Line {
        let name: Name
        let words: [String]
        let endMilliseconds: Int64?
        let nameserver: String?
    }

    /// Returns the parts of the lines. Malformed lines are skipped.
    static func lines(of notes: [String]) -> [Line] {
        notes.flatMap { $0.split(separator: "\n") }.prefix(maxRules).compactMap { line in
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard parts.count > 2, let name = Name(parts[1]) else { return nil }
            let first = parts[0].split(separator: " ", maxSplits: 1).map(String.init)
            guard let end = first.first, end == "-" || Int64(end) != nil else { return nil }
            return Line(
                name: name, words: Array(parts[2...]), endMilliseconds: Int64(end), nameserver: first.dropFirst().first)
        }
    }
}
