// Finds rules whose `cname` leads back to the same rules.

import DNSWire

extension SettingsErrors {
    mutating func judgeAliases(_ settings: Settings, _ node: TOMLNode?) {
        guard let elements = node?.elements, elements.count == settings.rules.count else { return }
        let names = Set(settings.nameservers.flatMap(\.names))
        for (index, fault) in settings.rules.aliasLoopsOfViews(beside: names) {
            note(elements[index].member("cname") ?? elements[index], fault)
        }
    }
}

extension [Settings.Rule] {
    /// Returns the alias loops among the rules that the clients of each view have together.
    ///
    /// - Parameter nameservers: the names that belong to nameservers.
    func aliasLoopsOfViews(beside nameservers: Set<Name>) -> [(index: Int, fault: String)] {
        let views = Set(map(\.view))
        var loops: [Int: String] = [:]
        for view in views.union([nil]) {
            // The rules of the view come first, as they precede the others.
            let order =
                indices.filter { self[$0].view == view && view != nil } + indices.filter { self[$0].view == nil }
            let rules = order.map { self[$0] }
            for (place, fault) in rules.aliasLoops(beside: nameservers) { loops[order[place]] = fault }
        }
        return loops.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the places of the rules with alias loops, and the fault of each.
    ///
    /// - Parameter nameservers: the names that belong to nameservers, which are asked without an alias.
    func aliasLoops(beside nameservers: Set<Name> = []) -> [(index: Int, fault: String)] {
        guard contains(where: { $0.cname != nil }) else { return [] }
        var ruleOfName: [Name: Int] = [:]
        for (index, rule) in enumerated() where rule.resolver != nil || rule.answersItself {
            for name in rule.match where ruleOfName[name] == nil { ruleOfName[name] = index }
        }
        return indices.compactMap { start in
            guard let target = self[start].cname else { return nil }
            var passed: Set<Int> = [start]
            var next: Name? = target
            while let name = next {
                guard let rule = Self.rule(for: name, ruleOfName, beside: nameservers) else { return nil }
                guard passed.insert(rule).inserted, passed.count <= AliasChain.maxLinks else {
                    return (
                        start,
                        "rule.cname: found \(quoted(target.description)), which leads back by this rule or others; "
                            + "allowed: a name without such a rule; exempt it by a rule of its own with resolver"
                    )
                }
                next = self[rule].cname
            }
            return nil
        }
    }

    /// The rule that decides about the name, by the longest match; nil: there is none, or a nameserver has the name.
    private static func rule(for name: Name, _ ruleOfName: [Name: Int], beside nameservers: Set<Name>) -> Int? {
        for match in sequence(first: name, next: \.parent) {
            if nameservers.contains(match) { return nil }
            if let rule = ruleOfName[match] { return rule }
        }
        return nil
    }
}
