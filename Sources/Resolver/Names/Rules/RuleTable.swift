// Rules for names and their subdomains. For each setting, the longest matching rule that specifies it decides.

package import DNSWire

package struct Rule: Equatable, Sendable {
    package var match: [Name]
    /// Lists whose names count as if they were in `match`.
    package var lists: [RuleList] = []
    package var upstreams: NameUpstreams?
    package var terms = RuleTerms()
    /// The rule is for the clients of one view, and precedes rules for all clients at the same name.
    package var isOfView = false
    /// The terms that few rules have; nil for most rules. One reference, because rules are copied for every miss.
    private var rare: RareParts?

    /// The rule's answer. A rule for a longer name exempts its names by `upstreams`.
    package var answer: RuleAnswer? {
        get { rare?.answer }
        set { rare = RareParts.any(answer: newValue, origin: origin) }
    }

    /// The origin of the rule, only for `explain`.
    package var origin: RuleOrigin? {
        get { rare?.origin }
        set { rare = RareParts.any(answer: answer, origin: newValue) }
    }

    package init(match: [Name] = []) {
        self.match = match
    }

    /// Takes the values of `other` for settings that this rule does not specify.
    fileprivate mutating func fill(from other: Rule) {
        if answer == nil, upstreams == nil, let answer = other.answer { self.answer = answer }
        upstreams = upstreams ?? other.upstreams
        terms.fill(from: other.terms)
    }

    /// Merges two rules for one name: an exclusion beats an inclusion; else the first value counts.
    fileprivate mutating func join(_ other: Rule) {
        if other.upstreams == .system { upstreams = .system }
        terms.join(other.terms)
        fill(from: other)
    }
}

/// The settings for a name that decide which answers it gets.
struct AnswerTerms: Equatable {
    let upstreams: NameUpstreams?
    let answer: RuleAnswer?
    let terms: RuleTerms

    /// Compares only the terms that decide.
    static func == (one: AnswerTerms, other: AnswerTerms) -> Bool {
        one.upstreams == other.upstreams && one.answer == other.answer && !one.terms.mayDiffer(from: other.terms)
    }
}

extension Rule {
    fileprivate var answerTerms: AnswerTerms { AnswerTerms(upstreams: upstreams, answer: answer, terms: terms) }
}

/// The parts of a rule that few questions need. Immutable.
private final class RareParts: Equatable, Sendable {
    let answer: RuleAnswer?
    let origin: RuleOrigin?

    /// Returns nil if the rule has none of these parts.
    static func any(answer: RuleAnswer?, origin: RuleOrigin?) -> RareParts? {
        answer == nil && origin == nil ? nil : RareParts(answer: answer, origin: origin)
    }

    private init(answer: RuleAnswer?, origin: RuleOrigin?) {
        (self.answer, self.origin) = (answer, origin)
    }

    static func == (one: RareParts, other: RareParts) -> Bool {
        one.answer == other.answer && one.origin == other.origin
    }
}

package struct RuleTable: Equatable, Sendable {
    /// The rules for one name of `match`, joined.
    private struct Named: Equatable {
        var rule = Rule()
        /// The joined rules of a view among them.
        var ofView: Rule?
        /// The indices of the rules, ascending.
        var indices: [Int] = []
        /// The origins of the rules, in their order.
        var origins: [RuleOrigin] = []
        /// A rule whose values precede those of all others for the name.
        var overriding: Rule?

        mutating func add(_ new: Rule, at name: Name, _ index: Int) {
            if new.isOfView {
                var joined = ofView ?? Rule()
                joined.join(new.applied(to: name))
                ofView = joined
            } else {
                rule.join(new.applied(to: name))
            }
            indices.append(index)
            if let origin = new.origin { origins.append(origin) }
        }

        mutating func override(by other: Rule, _ name: Name) {
            let first = other.applied(to: name)
            overriding = overriding.map { first.filled(from: $0) } ?? first
            rule = first.filled(from: rule)
            if let origin = other.origin { origins.insert(origin, at: 0) }
        }
    }

    /// A list with the index of its rule.
    private struct Listed: Equatable {
        let index: Int
        let list: RuleList
    }

    private var ruleOfName: [Name: Named] = [:]
    /// The lists in the order of their rules. Each is searched for each label of a name.
    private let lists: [Listed]
    /// The rules with lists, by index.
    private let ruleOfIndex: [Int: Rule]
    /// A rule has a `family`. Without one, no entry of the cache is looked at for it.
    let hasFamilies: Bool
    /// A rule has an `answer`.
    let hasAnswers: Bool
    /// Some of the answers are aliases.
    let hasAliases: Bool

    /// Some of the rules are for the clients of one view.
    let hasRulesOfView: Bool

    /// All sets that rules name, each once.
    package let addressSets: [AddressSetTarget]

    /// - Parameter overriding: rules whose values precede those of the others for the same names. Values of a later
    ///   rule precede those of earlier ones.
    package init(_ rules: [Rule], overriding: [Rule] = []) {
        let all = rules + overriding
        hasFamilies = all.contains { $0.terms.family != nil }
        hasAnswers = all.contains { $0.answer != nil }
        hasAliases = all.contains { $0.answer?.isAlias ?? false }
        hasRulesOfView = rules.contains(where: \.isOfView)
        addressSets = Set(all.flatMap { $0.terms.addressSets ?? [] }).sorted {
            ($0.set.description, $0.description) < ($1.set.description, $1.description)
        }
        for (index, rule) in rules.enumerated() {
            for name in rule.match {
                ruleOfName[name, default: Named()].add(rule, at: name, index)
            }
        }
        for (name, named) in ruleOfName {
            if let ofView = named.ofView { ruleOfName[name]?.rule = ofView.filled(from: named.rule) }
        }
        lists = rules.enumerated().flatMap { index, rule in rule.lists.map { Listed(index: index, list: $0) } }
        // With lists, rules are joined when a name is looked up.
        ruleOfIndex = lists.isEmpty ? [:] : Dictionary(uniqueKeysWithValues: rules.enumerated().map { ($0, $1.bare) })
        for rule in overriding {
            for name in rule.match { ruleOfName[name, default: Named()].override(by: rule, name) }
        }
    }

    /// Returns the names of rules with other upstreams, substitutes, order, family, expectation or answer, and of rules
    /// in only one of the tables. Leaves out lists.
    func namesDiffering(from other: RuleTable) -> [Name] {
        Set(ruleOfName.keys).union(other.ruleOfName.keys).filter { name in
            ruleOfName[name]?.rule.answerTerms != other.ruleOfName[name]?.rule.answerTerms
        }.sorted()
    }

    /// Returns the merged rule for a name; nil if no rule matches.
    func rule(for name: Name) -> Rule? {
        guard !isEmpty else { return nil }
        var found: Rule?
        forEachMatch(of: name) { _, rule in
            if found == nil { found = rule } else { found?.fill(from: rule) }
            return true
        }
        return found
    }

    /// Returns the longest match that sends the name to the system resolver, to one provider or to a nameserver; nil if
    /// none does.
    func exception(for name: Name) -> Name? {
        var exception: Name?
        forEachMatch(of: name) { match, rule in
            switch rule.upstreams {
            case nil: return true
            case .providers, .owners: return false
            case .provider, .nameserver, .nothing, .system:
                exception = match
                return false
            }
        }
        return exception
    }

    /// Returns the longest match that has an answer for the name; nil if none does, or if a longer one has upstreams.
    func answer(for name: Name) -> (match: Name, answer: RuleAnswer)? {
        guard hasAnswers else { return nil }
        var found: (match: Name, answer: RuleAnswer)?
        forEachMatch(of: name) { match, rule in
            found = rule.answer.map { (match, $0) }
            return rule.answer == nil && rule.upstreams == nil
        }
        return found
    }

    /// Returns the sets of the longest match that names any.
    package func addressSets(for name: Name) -> [AddressSetTarget] {
        guard !addressSets.isEmpty else { return [] }
        var found: [AddressSetTarget]?
        forEachMatch(of: name) { _, rule in
            found = rule.terms.addressSets
            return found == nil
        }
        return found ?? []
    }

    /// Returns the longest rule below the zone that has upstreams or an answer for the name. Leaves out lists.
    func deciding(for name: Name, below zone: Name) -> (match: Name, rule: Rule)? {
        guard !ruleOfName.isEmpty else { return nil }
        for match in sequence(first: name, next: \.parent) {
            guard match.wire.count > zone.wire.count else { return nil }
            if let rule = ruleOfName[match]?.rule, rule.upstreams != nil || rule.answer != nil { return (match, rule) }
        }
        return nil
    }

    var isEmpty: Bool { ruleOfName.isEmpty && lists.isEmpty }

    /// Calls `body` with each name that equals the name or is its ancestor and has rules, the longest first, and with
    /// its joined rules, until it returns false.
    private func forEachMatch(of name: Name, _ body: (Name, Rule) -> Bool) {
        guard !isEmpty else { return }
        var next: Name? = name
        while let match = next {
            let named = ruleOfName[match]
            let rule =
                lists.isEmpty ? named?.rule : rule(at: match, named, isWhole: match.wire.count == name.wire.count)
            if let rule, !body(match, rule) { return }
            next = match.parent
        }
    }

    /// Returns the joined rules at one name; nil if there are none. Rules of a view come first. Exact entries of lists
    /// precede the rules for the name and those below it.
    private func rule(at name: Name, _ named: Named?, isWhole: Bool) -> Rule? {
        var (exact, others): ([Int], [Int]) = ([], [])
        for listed in lists {
            guard let entry = listed.list.names.entry(at: name, isWhole: isWhole) else { continue }
            if entry.scope == .exact { exact.append(listed.index) } else { others.append(listed.index) }
        }
        guard !exact.isEmpty || !others.isEmpty else { return named?.rule }
        others = ((named?.indices ?? []) + others).sorted()
        var rule = named?.overriding
        for isOfView in [true, false] {
            for indices in [exact, others] {
                guard let joined = joined(indices, isOfView, at: name) else { continue }
                rule = rule?.filled(from: joined) ?? joined
            }
        }
        return rule
    }

    /// Returns the joined rules that are for a view, or not; nil if there are none.
    private func joined(_ indices: [Int], _ isOfView: Bool, at name: Name) -> Rule? {
        var joined: Rule?
        for index in indices {
            guard let rule = ruleOfIndex[index], rule.isOfView == isOfView else { continue }
            if joined == nil { joined = rule } else { joined?.join(rule) }
        }
        return joined?.applied(to: name)
    }

    /// Returns the origin of the answer at a name, in the order of `rule(at:)`; nil: a rule names it.
    ///
    /// - Parameter isWhole: the name is the question's own, and not above it.
    func origin(ofAnswerAt name: Name, isWhole: Bool) -> RuleOrigin? {
        let named = ruleOfName[name]
        guard !lists.isEmpty, named?.overriding?.answer == nil else { return nil }
        var found: [(order: (Int, Int, Int), origin: RuleOrigin?)] = []
        let add = { (index: Int, isExact: Bool, origin: RuleOrigin?) in
            guard let rule = ruleOfIndex[index], rule.answer != nil else { return }
            found.append(((rule.isOfView ? 0 : 1, isExact ? 0 : 1, index), origin))
        }
        for index in named?.indices ?? [] { add(index, false, nil) }
        for listed in lists {
            guard let entry = listed.list.names.entry(at: name, isWhole: isWhole) else { continue }
            let origin = RuleOrigin.list(listed.list.path, line: entry.line, rule: listed.index + 1)
            add(listed.index, entry.scope == .exact, origin)
        }
        return found.min { $0.order < $1.order }?.origin
    }

    /// Returns the names and rules that match a name, the longest name first.
    func matches(of name: Name) -> [RuleMatch] {
        var matches: [RuleMatch] = []
        forEachMatch(of: name) { match, _ in
            let isWhole = match.wire.count == name.wire.count
            if let named = ruleOfName[match] { matches.append(RuleMatch(name: match, origins: named.origins)) }
            for listed in lists {
                guard let entry = listed.list.names.entry(at: match, isWhole: isWhole) else { continue }
                let origin = RuleOrigin.list(listed.list.path, line: entry.line, rule: listed.index + 1)
                matches.append(RuleMatch(name: match, scope: entry.scope, origins: [origin]))
            }
            return true
        }
        return matches
    }

    // MARK: changes of lists

    /// Whether the lists, or the answer terms of their rules, differ.
    func listsDiffer(from other: RuleTable) -> Bool {
        guard !lists.isEmpty || !other.lists.isEmpty else { return false }
        guard lists == other.lists else { return true }
        return lists.contains {
            ruleOfIndex[$0.index]?.answerTerms != other.ruleOfIndex[$0.index]?.answerTerms
        }
    }

    // MARK: terms of acceptance

    /// The names with terms of acceptance of their own, without lists.
    var namesWithAcceptanceTerms: [Name] { ruleOfName.filter { $0.value.rule.limitsAcceptance }.keys.sorted() }

    var hasListsWithAcceptanceTerms: Bool {
        lists.contains { ruleOfIndex[$0.index]?.limitsAcceptance ?? false }
    }

    /// The terms under which answers are accepted, in an order that depends on the rules alone.
    ///
    /// - Parameter nameserver: returns a text for a nameserver; nil for one that does not exist.
    func acceptanceTerms(_ nameserver: (NameserverID?) -> String) -> [String] {
        let ofNames = ruleOfName.flatMap { name, named in
            named.rule.acceptanceTerms(nameserver).map { "\(name) \($0)" }
        }
        let ofLists = lists.flatMap { listed in
            let terms = ruleOfIndex[listed.index]?.acceptanceTerms(nameserver) ?? []
            return terms.map { "\(listed.list.path) \(listed.list.names.fileDigest.value) \($0)" }
        }
        return ofNames.sorted() + ofLists
    }
}

extension Rule {
    /// The rule limits acceptance: answers must meet an expectation, or come from a nameserver.
    fileprivate var limitsAcceptance: Bool { !terms.acceptance.isEmpty || upstreams?.areFinal == true }

    /// Returns one text for each term of acceptance and nameserver.
    fileprivate func acceptanceTerms(_ nameserver: (NameserverID?) -> String) -> [String] {
        var terms = terms.acceptance
        switch upstreams {
        case .nameserver(let server): terms.append(nameserver(server))
        case .nothing: terms.append(nameserver(nil))
        case .providers, .owners, .provider, .system, nil: break
        }
        return terms
    }

    fileprivate func filled(from other: Rule) -> Rule {
        var filled = self
        filled.fill(from: other)
        return filled
    }

    /// The rule without names.
    fileprivate var bare: Rule {
        var bare = self
        (bare.match, bare.lists) = ([], [])
        return bare
    }

    /// Returns the rule as it applies to one of its names.
    fileprivate func applied(to name: Name) -> Rule {
        var rule = bare
        rule.terms.expectation?.rule = name
        return rule
    }
}
