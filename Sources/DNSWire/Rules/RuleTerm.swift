// A row of the table of rule terms: key, syntax, how rules for one name are merged, and what a change concerns.

package struct RuleTerm: Sendable {
    /// The form of the value in the settings, with the place of the value in a rule.
    package enum Syntax: Sendable {
        case truth(Value<Bool>)
        case word(Value<String>, [String])
        case integer(Value<Int>, ClosedRange<Int>, meaning: String)
        case ttl(Value<Duration>)
        case ports(Value<[UInt16]>)
        case addresses(Value<[Address]>)
        case expectation(Value<RuleExpectation>)
        case prefixes(Value<[Prefix]>)
        case addressSets(Value<[AddressSetTarget]>)
    }

    /// Reads and writes the value of a term.
    package struct Value<Content: Sendable>: Sendable {
        package let read: @Sendable (RuleTerms) -> Content?
        package let write: @Sendable (inout RuleTerms, Content?) -> Void
    }

    /// The answers that a change of the term affects.
    package enum Scope: Sendable {
        case laterAnswers
        /// Cached answers are removed if the term changes.
        case cachedAnswers
        /// Stored answers are removed, too. Members of a fleet share answers if they have the same terms.
        case acceptance
    }

    /// The key in the settings.
    package let key: String
    package let syntax: Syntax
    let scope: Scope
    /// Whether the rule has the value that precedes others for the same name.
    let excludes: @Sendable (RuleTerms) -> Bool
    let differ: @Sendable (RuleTerms, RuleTerms) -> Bool
    let copy: @Sendable (_ source: RuleTerms, _ target: inout RuleTerms) -> Void

    /// - Parameter exclusion: the value that counts if one of several rules for a name has it; nil: the first counts.
    init<Content: Equatable & Sendable>(
        _ key: String, _ path: any WritableKeyPath<RuleTerms, Content?> & Sendable,
        _ syntax: (Value<Content>) -> Syntax,
        exclusion: Content? = nil, decides scope: Scope = .laterAnswers
    ) {
        (self.key, self.scope) = (key, scope)
        self.syntax = syntax(Value(read: { $0[keyPath: path] }, write: { $0[keyPath: path] = $1 }))
        excludes = { exclusion != nil && $0[keyPath: path] == exclusion }
        differ = { $0[keyPath: path] != $1[keyPath: path] }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
    }

    static func word<Choice>(_ value: Value<Choice>) -> Syntax
    where Choice: CaseIterable & RawRepresentable<String> & Sendable {
        .word(
            Value(
                read: { value.read($0)?.rawValue }, write: { value.write(&$0, $1.flatMap { Choice(rawValue: $0) }) }),
            Choice.allCases.map(\.rawValue))
    }

    /// The syntax of addresses, of which an empty list is none.
    static func addresses(_ value: Value<[Address]>) -> Syntax {
        .addresses(Value(read: value.read, write: { value.write(&$0, $1.flatMap { $0.isEmpty ? nil : $0 }) }))
    }

    static func integer<Number: FixedWidthInteger & Sendable>(
        _ range: ClosedRange<Number>, _ meaning: String
    ) -> (Value<Number>) -> Syntax {
        { value in
            .integer(
                Value(
                    read: { value.read($0).map { Int($0) } },
                    write: { value.write(&$0, $1.flatMap { Number(exactly: $0) }.flatMap { range ~= $0 ? $0 : nil }) }),
                Int(range.lowerBound)...Int(range.upperBound), meaning: meaning)
        }
    }

    /// The value as `explain` shows it; nil: the rule lacks the term.
    func words(_ terms: RuleTerms) -> String? {
        switch syntax {
        case .truth(let value): value.read(terms).map { "\($0)" }
        case .word(let value, _): value.read(terms)
        case .integer(let value, _, _): value.read(terms).map { "\($0)" }
        case .ttl(let value): value.read(terms).map { "\($0.wholeSeconds)s" }
        case .ports(let value): value.read(terms).map { "\($0)" }
        case .addresses(let value): value.read(terms).map { $0.map(\.description).joined(separator: " ") }
        case .expectation(let value): value.read(terms).map { "\($0)" }
        case .prefixes(let value): value.read(terms).map { $0.map(\.description).joined(separator: " ") }
        case .addressSets(let value): value.read(terms).map { $0.map(\.description).joined(separator: " ") }
        }
    }
}

extension RuleTerms {
    private static let all = RuleTerm.rows + RuleTerm.laterRows
    private static let ofAcceptance = all.filter { $0.scope == .acceptance }
    private static let ofCachedAnswers = all.filter { $0.scope != .laterAnswers }

    /// Merges the terms of two rules for one name: an exclusion beats an inclusion; else the first value counts.
    package mutating func join(_ other: RuleTerms) {
        guard self != RuleTerms() else {
            self = other
            return
        }
        for term in RuleTerms.all where term.excludes(other) { term.copy(other, &self) }
        fill(from: other)
    }

    /// Whether answers under the other terms may differ.
    package func mayDiffer(from other: RuleTerms) -> Bool {
        self != other && RuleTerms.ofCachedAnswers.contains { $0.differ(self, other) }
    }

    /// The terms under which answers are accepted.
    package var acceptance: [String] { RuleTerms.ofAcceptance.compactMap { $0.words(self) } }

    /// Returns the terms of the rows as they are written in the settings file.
    package func words(of rows: [RuleTerm]) -> [String] {
        rows.compactMap { row in row.words(self).map { "\(row.key) = \($0)" } }
    }
}
