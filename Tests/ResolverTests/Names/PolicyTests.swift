// Remembered failures, budgets and rules, as far as no scenario covers them: bounds and limits.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Failure memory")
struct FailureMemoryTests {
    private let start = Instant.testStart

    private func question(_ number: Int) throws -> Question { Question(try #require(Name("n\(number).example")), .a) }

    @Test("the oldest failures leave when there are too many; the latest is always remembered")
    func bound() throws {
        var memory = FailureMemory()
        for number in 0...(2 * Bounds.maxFailures) {
            _ = memory.failed(
                try question(number), LookupFailure(.networkError), startedAt: start, recheck: nil, now: start)
            #expect(memory.failure(of: try question(number), hasExpired: false, now: start) != nil)
        }
        #expect(memory.failure(of: try question(0), hasExpired: false, now: start) == nil)
        #expect(memory.removeAll().count <= Bounds.maxFailures)
        #expect(memory.removeAll().isEmpty)
    }

    @Test("a failure long after the last one begins anew at 5 s; recheck neither doubles nor is doubled")
    func pauses() throws {
        var memory = FailureMemory()
        let question = try question(1)
        func pause(at seconds: Int, recheck: Duration? = nil) -> Duration {
            let now = start + .seconds(seconds)
            let retryAt = memory.failed(
                question, LookupFailure(.networkError), startedAt: now, recheck: recheck, now: now)
            return now.duration(to: retryAt)
        }
        #expect(pause(at: 0) == .seconds(5))
        #expect(pause(at: 5) == .seconds(10))
        #expect(pause(at: 45) == .seconds(5))
        #expect(pause(at: 50, recheck: .seconds(60)) == .seconds(60))
        #expect(memory.failure(of: question, hasExpired: true, now: start + .seconds(61)) != nil)
        #expect(memory.failure(of: question, hasExpired: false, now: start + .seconds(61)) == nil)
        memory.answered(question)
        #expect(pause(at: 80) == .seconds(5))
    }
}

@Suite("Bucket of tokens")
struct TokenBucketTests {
    private let start = Instant.testStart

    @Test("as many refreshes as the budget says in any second after the first, and no more saved up than one second's")
    func rate() {
        var budget = TokenBucket()
        let times = (0..<220).map { _ in budget.spend(perSecond: 20, now: start) ?? start }
        #expect(times.prefix(20).allSatisfy { $0 == start })
        for place in 0..<200 {
            let seconds = start.duration(to: times[20 + place]).seconds
            #expect(abs(seconds - Double(place + 1) / 20) < 1e-6)
        }
        var burst = 0
        while budget.spend(perSecond: 20, now: start + .seconds(3600)) == nil { burst += 1 }
        #expect(burst == 20)
    }

    @Test("when the next refresh may come is said exactly")
    func nextToken() {
        var budget = TokenBucket()
        for _ in 0..<4 { #expect(budget.spend(perSecond: 4, now: start) == nil) }
        // Each call reserves its own time, so the caller need not ask again.
        #expect(budget.spend(perSecond: 4, now: start) == start + .milliseconds(250))
        #expect(budget.spend(perSecond: 4, now: start) == start + .milliseconds(500))
        #expect(budget.spend(perSecond: 4, now: start + .milliseconds(500)) == start + .milliseconds(750))
        #expect(budget.spend(perSecond: 4, now: start + .milliseconds(1000)) == nil)
    }
}

@Suite("Limits of lifetimes")
struct CachePolicyTests {
    @Test("min-ttl lifts negative answers, too, as far as negative-max-ttl and max-ttl allow")
    func negative() {
        for negative in [Answer.Kind.noSuchName, .noData, .ambiguousEmpty] {
            for (longest, expected) in [(300, 30), (20, 20)] as [(UInt32, UInt32)] {
                let policy = CachePolicy(minTTLSeconds: 30, maxTTLSeconds: 600, negativeMaxTTLSeconds: longest)
                #expect(policy.applied(to: Answer(negative: negative, ttlSeconds: 5)).ttlSeconds == expected)
            }
            let short = CachePolicy(minTTLSeconds: 30, maxTTLSeconds: 10, negativeMaxTTLSeconds: 300)
            #expect(short.applied(to: Answer(negative: negative, ttlSeconds: 5)).ttlSeconds == 10)
        }
    }
}

@Suite("Rules for names")
struct RuleTableTests {
    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    @Test("each thing is decided by the longest match that speaks of it; the root speaks for all")
    func specificity() throws {
        var everything = Rule(match: [try name(".")])
        everything.terms.stale = false
        everything.terms.prefetch = false
        var zone = Rule(match: [try name("example"), try name("lan")])
        zone.terms.stale = true
        zone.terms.minTTL = .seconds(9)
        var host = Rule(match: [try name("WWW.example")])
        host.terms.fallbackAddresses = [.v4(7)]
        let table = RuleTable([host, everything, zone])
        let found = table.rule(for: try name("a.www.EXAMPLE"))
        #expect(found?.terms.stale == true && found?.terms.prefetch == false && found?.terms.minTTL == .seconds(9))
        #expect(found?.terms.fallbackAddresses == [.v4(7)])
        #expect(table.rule(for: try name("wwww.example"))?.terms.fallbackAddresses == nil)
        #expect(table.rule(for: try name("notexample"))?.terms.stale == false)
        #expect(table.rule(for: try name("printer.lan"))?.terms.stale == true)
    }

    @Test("of two rules for one name an exclusion counts, in either order; of two values the first")
    func conflicts() throws {
        var including = Rule(match: [try name("example")])
        including.terms.prefetch = true
        including.terms.maxTTL = .seconds(1)
        var excluding = Rule(match: [try name("example")])
        excluding.terms.prefetch = false
        excluding.terms.maxTTL = .seconds(2)
        let found = RuleTable([including, excluding]).rule(for: try name("example"))
        let reversed = RuleTable([excluding, including]).rule(for: try name("example"))
        #expect(found?.terms.prefetch == false && reversed?.terms.prefetch == false)
        #expect(found?.terms.maxTTL == .seconds(1) && reversed?.terms.maxTTL == .seconds(2))
    }
}

@Suite("Rules with lists of names")
struct ListedRuleTests {
    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    private func list(_ entries: (String, NameList.Scope)..., path: String = "/list") throws -> RuleList {
        var builder = NameList.Builder()
        for (index, entry) in entries.enumerated() {
            builder.add(try name(entry.0).digest, entry.1, line: index + 1)
        }
        return RuleList(path: path, names: NameList(builder))
    }

    @Test("a blocked name counts for the rule or list whose answer it gets")
    func blockingRules() throws {
        var rules = [Rule(match: [try name("both.example")]), Rule(), Rule(match: [try name("both.example")]), Rule()]
        rules[0].terms.stale = false
        rules[1].lists = [try list(("both.example", .tree), ("tree.example", .tree), path: "/tree")]
        rules[2].answer = .noData(.blockedByRule)
        rules[3].lists = [try list(("both.example", .exact), ("a.tree.example", .exact), path: "/exact")]
        for index in [1, 3] { rules[index].answer = .noSuchName(.blockedByRule) }
        let table = RuleTable(rules)
        let block = { (text: String) -> BlockingRule? in
            let name = try name(text)
            return table.answer(for: name).map { table.blockingRule(for: name, at: $0.match) }
        }
        #expect(try block("both.example") == .list("/exact"))
        #expect(try block("a.both.example") == .list("/tree"))
        #expect(try block("a.tree.example") == .list("/exact"))
        #expect(try block("b.tree.example") == .list("/tree"))
        #expect(try block("c.example") == nil)
        var added = Rule(match: [try name("tree.example")])
        added.answer = .refused(.blockedByRule)
        let overridden = RuleTable(rules, overriding: [added])
        #expect(
            overridden.blockingRule(for: try name("b.tree.example"), at: try name("tree.example"))
                == .name(try name("tree.example")))
    }

    private func rule(_ match: [String] = [], _ lists: [RuleList] = [], ttl: UInt32) throws -> Rule {
        var rule = Rule(match: try match.map(name))
        (rule.lists, rule.terms.maxTTL) = (lists, .seconds(ttl))
        return rule
    }

    @Test("a name of a list counts as one of match: the longest decides, an exact one before the tree of the same name")
    func precedence() throws {
        let table = RuleTable([
            try rule(["example"], ttl: 1),
            try rule(["a.b.example"], [try list(("b.example", .tree), ("c.example", .below))], ttl: 2),
            try rule([], [try list(("b.example", .exact), ("lan", .tree))], ttl: 3),
        ])
        for (text, ttl) in [
            ("example", 1), ("x.example", 1), ("b.example", 3), ("x.b.example", 2), ("B.Example", 3),
            ("a.b.example", 2),
            ("c.example", 1), ("x.c.example", 2), ("nas.lan", 3),
        ] {
            #expect(table.rule(for: try name(text))?.terms.maxTTL == .seconds(ttl), "\(text)")
        }
        #expect(table.rule(for: try name("other")) == nil)
    }

    @Test("rules for one name are joined in the order of the settings, whether a list or match has it")
    func joined() throws {
        var including = try rule([], [try list(("example", .tree))], ttl: 1)
        including.terms.stale = true
        var excluding = try rule(["example"], ttl: 2)
        excluding.terms.stale = false
        let found = RuleTable([including, excluding]).rule(for: try name("x.example"))
        let reversed = RuleTable([excluding, including]).rule(for: try name("x.example"))
        #expect(found?.terms.stale == false && reversed?.terms.stale == false)
        #expect(found?.terms.maxTTL == .seconds(1) && reversed?.terms.maxTTL == .seconds(2))
    }

    @Test("every place of a match is known: rule, file and line")
    func places() throws {
        let table = RuleTable([
            try rule(["example"], ttl: 1),
            try rule(
                [], [try list(("z", .tree), ("b.example", .below)), try list(("a.b.example", .exact), path: "/o")],
                ttl: 2),
        ])
        #expect(
            table.matches(of: try name("a.b.example")) == [
                RuleMatch(name: try name("a.b.example"), scope: .exact, origins: [.list("/o", line: 1, rule: 2)]),
                RuleMatch(name: try name("b.example"), scope: .below, origins: [.list("/list", line: 2, rule: 2)]),
                RuleMatch(name: try name("example")),
            ])
    }

    @Test("an account precedes a shorter name of a list, and not a longer one")
    func accounts() throws {
        var policy = Policy()
        var rule = try rule([], [try list(("example", .tree), ("b.a.example", .tree))], ttl: 1)
        rule.upstreams = .system
        policy.rules = RuleTable([rule])
        policy.accounts = AccountTable([
            AccountNames(ProviderID(1), [QuestionScope(try name("a.example"), includesDescendants: true)])
        ])
        #expect(policy.upstreams(for: try name("x.example")) == .system)
        #expect(policy.upstreams(for: try name("x.a.example")) == .owners([ProviderID(1)], isExclusive: false))
        #expect(policy.upstreams(for: try name("x.b.a.example")) == .system)
    }

    @Test("a change of a list moves its names; a change of what does not choose answers moves none")
    func changes() throws {
        func policy(_ lists: [RuleList], _ upstreams: NameUpstreams?, ttl: UInt32 = 1) throws -> Policy {
            var (policy, rule) = (Policy(), try rule(lists.isEmpty ? ["other"] : [], lists, ttl: ttl))
            rule.upstreams = upstreams
            policy.rules = RuleTable([rule])
            return policy
        }
        let old = try policy([try list(("a", .tree), ("b", .tree))], .system)
        let new = try policy([try list(("a", .tree), ("c", .tree))], .system)
        #expect(new.listsDiffer(from: old))
        for (text, differs) in [("x.a", false), ("x.b", true), ("x.c", true), ("d", false)] {
            #expect(new.mayDiffer(from: old, for: try name(text)) == differs, "\(text)")
        }
        #expect(try policy([try list(("a", .tree))], nil).listsDiffer(from: policy([try list(("a", .tree))], .system)))
        #expect(
            try !policy([try list(("a", .tree))], nil).listsDiffer(from: policy([try list(("a", .tree))], nil, ttl: 2)))
        #expect(try policy([], nil).listsDiffer(from: policy([try list(("a", .tree))], nil)))
        #expect(try !policy([], nil).listsDiffer(from: policy([], .system)))
    }
}

@Suite("What a change of rules moves")
struct RouteChangeTests {
    private func policy(_ upstreams: [String: NameUpstreams?], onlyListed: Bool = false) -> Policy {
        var policy = Policy()
        policy.onlyListed = onlyListed
        policy.rules = RuleTable(
            upstreams.map { name, upstreams in
                var rule = Rule(match: [Name(name) ?? .root])
                rule.upstreams = upstreams
                return rule
            })
        return policy
    }

    private func moved(_ old: Policy, _ new: Policy) -> [String] {
        #expect(Set(old.answersDiffering(from: new)) == Set(new.answersDiffering(from: old)))
        let areTrees = old.answersDiffering(from: new).allSatisfy { $0.includesDescendants }
        #expect(areTrees)
        return old.answersDiffering(from: new).map(\.name.description).sorted()
    }

    @Test("names of rules that come, go or name another resolver; not those whose rules stay or change something else")
    func names() {
        let first = NameUpstreams.provider(ProviderID(1))
        let old = policy(["stays": .system, "moves": .system, "goes": first, "silent": nil])
        var new = policy(["stays": .system, "moves": first, "comes": .system, "silent": nil])
        new.stale.maxAgeSeconds = 1
        #expect(moved(old, new) == ["comes", "goes", "moves"])
        #expect(moved(old, old).isEmpty)
    }

    @Test("names whose upstreams are asked in another order, by the settings or by a rule")
    func order() throws {
        let (plain, ruled) = (try #require(Name("www.plain")), try #require(Name("www.ruled")))
        let old = policy(["sole": .system, "ruled": nil])
        var systemFirst = old
        systemFirst.order = .systemFirst
        var rule = Rule(match: [try #require(Name("ruled"))])
        rule.terms.order = .systemFirst
        var byRule = old
        byRule.rules = RuleTable([rule])
        #expect(systemFirst.mayDiffer(from: old, for: plain) && systemFirst.mayDiffer(from: old, for: ruled))
        #expect(byRule.mayDiffer(from: old, for: ruled) && !byRule.mayDiffer(from: old, for: plain))
        // The order has no effect on a name of the system resolver.
        #expect(!systemFirst.mayDiffer(from: old, for: try #require(Name("www.sole"))))
    }

    @Test("names that substitutes may answer for under only one of the policies")
    func standsIn() throws {
        let ruled = try #require(Name("ruled"))
        let old = policy(["ruled": nil])
        var rule = Rule(match: [ruled])
        rule.terms.standsIn = .never
        var new = old
        new.rules = RuleTable([rule])
        #expect(new.mayDiffer(from: old, for: ruled) && old.mayDiffer(from: new, for: ruled))
        #expect(old.answersDiffering(from: new) == [QuestionScope(ruled, includesDescendants: true)])
        var never = old
        never.standsIn = .never
        #expect(never.answersDiffering(from: old) == [.everything])
    }

    @Test("all names, when those without a rule go elsewhere")
    func everything() {
        #expect(policy([:]).answersDiffering(from: policy([:], onlyListed: true)) == [.everything])
        var avoiding = policy([:])
        avoiding.isSystemOnly = true
        #expect(policy([:]).answersDiffering(from: avoiding) == [.everything])
    }
}
