// Contradictions of a rule's expectation that no scenario covers: limits, texts and bounds.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Expectations of rules")
struct RuleExpectationTests {
    private let name: Name
    private let now = Instant.testStart

    init() throws { name = try #require(Name("www.example")) }

    private func expectation(cname: Bool? = nil, maxTTL: UInt32? = nil, within: String...) -> RuleExpectation {
        var expectation = RuleExpectation()
        expectation.hasAlias = cname
        expectation.maxTTL = maxTTL.map { .seconds($0) }
        expectation.networks = within.compactMap { Prefix($0) }
        expectation.rule = name
        return expectation
    }

    private func answer(_ addresses: String..., ttl: UInt32 = 60, alias: UInt32? = nil) -> Answer {
        let links = alias.map {
            [ResourceRecord(owner: name, type: .cname, ttlSeconds: $0, data: Name.root.wire)]
        }
        let hosts = addresses.compactMap { Address($0) }.map {
            ResourceRecord(owner: name, address: $0, ttlSeconds: ttl)
        }
        return Answer(records: (links ?? []) + hosts)
    }

    private func reason(
        _ expectation: RuleExpectation, _ answer: Answer, _ type: RecordType = .a, carriesAliases: Bool = true
    ) -> Contradiction.Reason? {
        expectation.contradiction(
            in: answer, to: Question(name, type), carriesAliases: carriesAliases, behind: [])?.reason
    }

    @Test("a TTL at the bound is genuine, one above is not; the largest of the addresses counts, a CNAME's does not")
    func ttl() {
        let expectation = expectation(maxTTL: 300)
        #expect(reason(expectation, answer("192.0.2.1", ttl: 300)) == nil)
        #expect(reason(expectation, answer("192.0.2.1", ttl: 301)) == .ttl(301))
        #expect(reason(expectation, answer("192.0.2.1", ttl: 0)) == nil)
        #expect(reason(expectation, answer("192.0.2.1", ttl: 60, alias: .max)) == nil)
        let mixed = Answer(records: answer("192.0.2.1", ttl: 1).records + answer("192.0.2.2", ttl: .max).records)
        #expect(reason(expectation, mixed) == .ttl(.max))
    }

    @Test("one address outside the networks is enough; a family without a network is not judged")
    func within() throws {
        let both = expectation(within: "192.0.2.0/25", "2001:db8::/64")
        let outside = try #require(Address("192.0.2.128"))
        #expect(reason(both, answer("192.0.2.127", "192.0.2.0")) == nil)
        #expect(reason(both, answer("192.0.2.127", "192.0.2.128")) == .outside(outside))
        #expect(reason(both, answer("2001:db8::1"), .aaaa) == nil)
        #expect(reason(both, answer("2001:db8:0:1::1"), .aaaa) != nil)
        // An IPv4-mapped address is not an address of the network 192.0.2.0/25.
        #expect(reason(both, answer("::ffff:192.0.2.1"), .aaaa) != nil)
        let one = expectation(within: "192.0.2.0/25")
        #expect(reason(one, answer("2001:db8:0:1::1"), .aaaa) == nil)
        #expect(reason(expectation(within: "0.0.0.0/0"), answer("198.51.100.1")) == nil)
    }

    @Test("a CNAME record is judged only where the format has them, and before the TTL")
    func alias() {
        let (with, without) = (expectation(cname: true, maxTTL: 1), expectation(cname: false))
        #expect(reason(with, answer("192.0.2.1")) == .noAlias)
        #expect(reason(with, answer("192.0.2.1", alias: 60)) == .ttl(60))
        #expect(reason(with, answer("192.0.2.1"), carriesAliases: false) == .ttl(60))
        #expect(reason(without, answer("192.0.2.1", alias: 60)) == .alias)
        #expect(reason(without, answer("192.0.2.1")) == nil)
    }

    @Test("nothing contradicts an empty expectation, and empty answers contradict none")
    func empty() {
        #expect(reason(expectation(), answer("192.0.2.1", ttl: .max)) == nil)
        let strict = expectation(cname: true, maxTTL: 1, within: "192.0.2.0/24")
        for kind in [Answer.Kind.noData, .noSuchName, .ambiguousEmpty] {
            #expect(reason(strict, Answer(negative: kind, ttlSeconds: 3600)) == nil)
        }
        #expect(reason(strict, answer("203.0.113.1"), .txt) == nil)
    }

    @Test("the reason comes before the rule's name, which may be cut off")
    func words() throws {
        let label = String(repeating: "x", count: 60)
        let long = try #require(Name([label, label, label].joined(separator: ".")))
        let contradiction = Contradiction(rule: long, reason: .ttl(86_400))
        let failure = LookupFailure(contradiction)
        #expect(failure.responseCode == .serverFailure && failure.extendedError.code == 0)
        #expect(failure.extendedError.text.hasPrefix("TTL 86400 against expect of the rule for xxx"))
        #expect(failure.extendedError.text.utf8.count == ExtendedError.maxUpstreamTextBytes)
        #expect(failure.remembered == failure)
        #expect(
            "\(Contradiction(rule: .root, reason: .noAlias))" == "no CNAME against expect of the rule for all names")
        #expect(
            "\(expectation(cname: true, maxTTL: 60, within: "192.0.2.0/24", "2001:db8::1"))"
                == "{cname = true, max-ttl = 60s, within = [192.0.2.0/24, 2001:db8::1/128]}")
        #expect("\(expectation())" == "{}")
    }

    @Test("the longest rule that says it counts as a whole, with its own name; an empty one exempts")
    func rules() throws {
        let names = ["example", "www.example", "free.www.example"].compactMap { Name($0) }
        var (short, long, free) = (Rule(match: [names[0]]), Rule(match: [names[1]]), Rule(match: [names[2]]))
        short.terms.expectation = expectation(cname: true)
        long.terms.expectation = expectation(maxTTL: 60)
        free.terms.expectation = expectation()
        var policy = Policy()
        policy.rules = RuleTable([short, long, free])
        let below = try #require(Name("a.www.example"))
        let found = try #require(policy.of(below).expectation)
        #expect(found.hasAlias == nil && found.maxTTL == .seconds(60) && found.rule == names[1])
        #expect(policy.of(names[0]).expectation?.rule == names[0])
        #expect(policy.of(names[2]).expectation.map { "\($0)" } == "{}")
        #expect(policy.of(.root).expectation == nil && policy.namesWithAcceptanceTerms.count == 3)

        var other = policy
        long.terms.expectation = expectation(maxTTL: 61)
        other.rules = RuleTable([free, long, short])
        #expect(policy.answersDiffering(from: other) == [QuestionScope(names[1], includesDescendants: true)])
        #expect(other.mayDiffer(from: policy, for: names[1]) && !other.mayDiffer(from: policy, for: names[2]))
        let digests = [policy, other, Policy()].map { $0.acceptanceDigest { _ in "" } }
        #expect(digests[0] != nil && digests[0] != digests[1] && digests[2] == nil)
    }

    @Test("an answer is reported once in ten minutes per question and source, and always counted; the table is bounded")
    func reports() throws {
        var table = ContradictingAnswers()
        let contradiction = Contradiction(rule: name, reason: .noAlias)
        func isReported(_ number: Int, _ source: Source = .system, at seconds: Int = 0) throws -> Bool {
            let question = Question(try #require(Name("n\(number).example")), .a)
            let answer = ContradictingAnswer(
                question: question, source: source, addresses: [], contradiction: contradiction)
            return table.heard(answer, now: now + .seconds(seconds))
        }
        #expect(try isReported(0) && !isReported(0, at: 599) && isReported(0, at: 600))
        #expect(try isReported(0, .provider(ProviderID(1)), at: 600))
        #expect(table.count(of: .system) == 3 && table.count(of: .provider(ProviderID(1))) == 1)
        let first = try #require(Name("n0.example"))
        #expect(table.systemForgedUntil(first, now: now + .seconds(1199)) == now + .seconds(1200))
        #expect(table.systemForgedUntil(first, now: now + .seconds(1200)) == nil)
        let reported = try (1...Bounds.maxContradictions).count { try isReported($0, at: 600) }
        #expect(reported == Bounds.maxContradictions - 2)
        #expect(try isReported(1000, at: 1200), "the ended pauses make room")
        table.keep([])
        #expect(table.count(of: .provider(ProviderID(1))) == 0 && table.count(of: .system) > 256)
        table.networkChanged()
        #expect(table.systemForgedUntil(first, now: now + .seconds(601)) == nil)
    }
}
