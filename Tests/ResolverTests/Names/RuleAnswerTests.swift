// Answers by rules: the rule that decides, the answer of each form to each type, and the targets of aliases.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct RuleAnswerTests {
    private let now = Instant.testStart

    private func rule(_ name: String, _ answer: RuleAnswer) throws -> Rule {
        var rule = Rule(match: [try #require(Name(name))])
        rule.answer = answer
        return rule
    }

    private func rule(_ name: String, to upstreams: NameUpstreams) throws -> Rule {
        var rule = Rule(match: [try #require(Name(name))])
        rule.upstreams = upstreams
        return rule
    }

    private func alias(_ name: String, _ target: String) throws -> Rule {
        try rule(name, .alias(try #require(Name(target))))
    }

    private func policy(_ rules: [Rule]) -> Policy {
        var policy = Policy()
        policy.rules = RuleTable(rules)
        return policy
    }

    private func answer(_ name: String, by policy: Policy) throws -> RuleAnswer? {
        policy.ruleAnswer(for: try #require(Name(name)))
    }

    private func resolver(_ policy: Policy, hosts: String = "") -> Resolver {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        let provider = ProviderTraits(id: RankedID(0), types: .any)
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: true), now: now, actions: &actions)
        resolver.handle(.policyChanged(policy), now: now, actions: &actions)
        let files = HostsFiles([HostsTable(parsing: Array(hosts.utf8))])
        resolver.handle(.hostsChanged(files), now: now, actions: &actions)
        return resolver
    }

    private func actions(_ name: String, _ type: RecordType, _ resolver: Resolver) throws -> [Action] {
        var (resolver, actions) = (resolver, [Action]())
        let question = Question(try #require(Name(name)), type)
        resolver.handle(.asked(question, Waiter(1)), now: now, actions: &actions)
        return actions
    }

    @Test("the longest match counts; a longer rule with a resolver exempts its names, a shorter one does not matter")
    func longestMatch() throws {
        let policy = policy([
            try rule("example", .noSuchName(.blockedByRule)), try rule("in.example", to: .providers),
            try rule("x.in.example", .noData(.filteredByRule)), try rule(".", to: .system),
        ])
        #expect(try answer("a.example", by: policy) == .noSuchName(.blockedByRule))
        #expect(try answer("a.in.example", by: policy) == nil)
        #expect(try answer("a.x.in.example", by: policy) == .noData(.filteredByRule))
        #expect(try answer("other", by: policy) == nil)
    }

    @Test("of two rules for one name, the first with an answer or a resolver counts")
    func sameName() throws {
        let (answering, asking) = (
            try rule("example", .noSuchName(.blockedByRule)), try rule("example", to: .providers)
        )
        #expect(try answer("a.example", by: policy([answering, asking])) != nil)
        #expect(try answer("a.example", by: policy([asking, answering])) == nil)
    }

    @Test("names of an account are exempt from rules of shorter names only")
    func accounts() throws {
        var policy = policy([try rule(".", .noSuchName(.blockedByRule)), try rule("x.corp", .noData(.blockedByRule))])
        policy.accounts = AccountTable([
            AccountNames(ProviderID(0), [QuestionScope(try #require(Name("corp")), includesDescendants: true)])
        ])
        #expect(try answer("a.corp", by: policy) == nil)
        #expect(try answer("x.corp", by: policy) == .noData(.blockedByRule))
        #expect(try answer("example", by: policy) != nil)
    }

    @Test("records have the name in the question; types without one get no data")
    func records() throws {
        let long = String(repeating: "a", count: 256)
        let answer = RuleAnswer.records(
            addresses: [.v4(0xC000_0201)], texts: ["", long],
            services: [try #require(ServiceLocation("1 2 3 t.example"))], nil)
        let resolver = resolver(policy([try rule("example", answer)]))
        func reply(_ type: RecordType) throws -> Answer? {
            guard case .reply(_, let answer, .local) = try actions("a.example", type, resolver).first else {
                return nil
            }
            return answer
        }
        let owner = try #require(Name("a.example"))
        #expect(try reply(.a)?.records == [ResourceRecord(owner: owner, address: .v4(0xC000_0201), ttlSeconds: 60)])
        let texts = try #require(try reply(.txt)).records.map(\.data)
        #expect(texts == [[0], [255] + Array(long.utf8.prefix(255)) + [1, 0x61]])
        let target = try #require(Name("t.example"))
        #expect(try reply(.srv)?.records.map(\.data) == [[0, 1, 0, 2, 0, 3] + target.wire])
        for type in [RecordType.aaaa, .https, .svcb, .mx, .ptr, .cname] {
            let answer = try #require(try reply(type))
            #expect(answer.kind == .noData && answer.records.isEmpty && answer.authority?.owner == owner, "\(type)")
        }
    }

    @Test("a refusal is REFUSED with its extended error, without any upstream")
    func refusal() throws {
        let resolver = resolver(policy([try rule("example", .refused(.censoredByRule))]))
        #expect(try actions("example", .a, resolver) == [.fail(Waiter(1), .censoredByRule, .refused)])
    }

    @Test("/etc/hosts and the daemon's own special names precede a rule; names of the local network do not")
    func precedence() throws {
        let resolver = resolver(policy([try rule(".", .noSuchName(.blockedByRule))]), hosts: "192.0.2.5 nas.example")
        func kind(_ name: String) throws -> Answer.Kind? {
            guard case .reply(_, let answer, .local) = try actions(name, .a, resolver).first else { return nil }
            return answer.kind
        }
        #expect(try kind("nas.example") == .records)
        #expect(try kind("localhost") == .records)
        #expect(try kind("nas.home.arpa") == .noSuchName)
        #expect(try kind("printer") == .noSuchName)
        #expect(try kind("www.example") == .noSuchName)
    }

    @Test("a lookup in flight when a rule begins to answer gives its client the answer and caches nothing")
    func inFlight() throws {
        var (resolver, actions) = (resolver(Policy()), [Action]())
        let question = Question(try #require(Name("www.example")), .a)
        resolver.handle(.asked(question, Waiter(1)), now: now, actions: &actions)
        guard case .fetch(let id, _, _, _) = actions.first else { throw Failure.noFetch }
        let policy = policy([try rule("example", .noSuchName(.blockedByRule))])
        #expect(policy.mayDiffer(from: Policy(), for: question.name))
        #expect(policy.answersDiffering(from: Policy()).contains { $0.contains(question) })
        resolver.handle(.policyChanged(policy), now: now, actions: &actions)
        actions = []
        let answer = Answer(records: [ResourceRecord(owner: question.name, address: .v4(0xC000_0207), ttlSeconds: 60)])
        resolver.handle(.fetchFinished(id, .success(answer)), now: now, actions: &actions)
        #expect(!actions.contains { if case .store = $0 { true } else { false } })
        #expect(actions.contains { if case .reply(Waiter(1), _, _) = $0 { true } else { false } })
    }

    private enum Failure: Error { case noFetch }

    @Test("aliases lead to the last target; a loop and a long chain have none")
    func aliases() throws {
        func aliases(_ rules: [Rule], _ name: String, _ type: RecordType = .a) throws -> AliasQuestions? {
            resolver(policy(rules), hosts: "192.0.2.5 host.example")
                .aliases(of: Question(try #require(Name(name)), type))
        }
        let two = [try alias("a.example", "b.example"), try alias("b.example", "c.example")]
        let found = try #require(try aliases(two, "x.a.example"))
        #expect(found.links.map { "\($0.owner)" } == ["x.a.example", "b.example"])
        #expect(found.target.map { "\($0.name)" } == "c.example")
        #expect(try aliases(two, "x.a.example", .cname) == nil)
        #expect(try aliases(two, "c.example") == nil)
        #expect(try aliases([try alias("example", "a.example")], "host.example") == nil)
        #expect(try aliases([try alias("example", "a.example")], "b.example")?.target == nil)
        #expect(try aliases([try alias("a.example", "a.example")], "a.example") != nil)
        let long = try (0...32).map { try alias("n\($0).example", "n\($0 + 1).example") }
        #expect(try aliases(long, "n0.example")?.target == nil)
        #expect(try aliases(long, "n1.example")?.target != nil)
    }

    @Test("an expired answer of a target keeps its TTLs and its kind behind an alias")
    func expiredBehindAlias() throws {
        let target = Question(try #require(Name("www.example")), .a)
        let alias = Question(try #require(Name("alias.example")), .a)
        let link = ResourceRecord(owner: alias.name, alias: target.name, ttlSeconds: 60)
        let answers = [
            Answer(records: [ResourceRecord(owner: target.name, address: .v4(7), ttlSeconds: 30)]),
            Answer(negative: .noSuchName, ttlSeconds: 30), Answer.nothing(.noData, about: target, by: nil),
        ]
        for answer in answers + answers.map({ $0.remarked(ExtendedError(upstream: 16, text: "law".utf8)) }) {
            let expired = ExpiredAnswer(
                answer: RenderedAnswer(answer, to: target), extendedError: .staleAnswer, usableUntil: now,
                sourceRank: .provider)
            let behind = try expired.behind([link], from: alias, to: target)
            #expect(behind.answer == RenderedAnswer(answer.behind([link]), to: alias))
            #expect(behind.answer.responseCode == answer.responseCode && behind.answer.extendedError == answer.remark)
            #expect(try behind.answer.records(of: alias).first == link)
        }
    }
}
