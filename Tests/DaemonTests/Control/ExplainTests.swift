// The exact output of `explain` in each situation of a name.

import Control
import DNSWire
import Resolver
import Serving
import TestSupport
import Testing

@testable import Daemon
@testable import Upstreams

/// Compares the whole text with a file of the folder Explanations.
func expect(_ text: String, isThatOf file: String, _ location: SourceLocation = #_sourceLocation) throws {
    let path = "\(TestFile.folder(of: #filePath))/Explanations/\(file).txt"
    let golden = String(decoding: try TestFile.bytes(at: path), as: UTF8.self)
    #expect(text == golden, "\(file) is not:\n\(text)", sourceLocation: location)
}

struct ExplainTests {
    @Test("a fresh answer")
    func fresh() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.answer("alidns", "203.0.113.7", "203.0.113.9")
        stand.pass(.seconds(73))
        for _ in 0..<3 { try stand.ask("www.example.com") }
        try expect(stand.text("www.example.com"), isThatOf: "fresh")
    }

    @Test("an answer that is due for its refresh")
    func due() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.answer("alidns", "203.0.113.7")
        stand.pass(.seconds(295))
        try expect(stand.text("www.example.com"), isThatOf: "due")
    }

    @Test("an answer that is due and is not refreshed, as prefetch is off")
    func dueWithoutPrefetch() throws {
        var policy = ExplainStand.policy
        policy.prefetches = false
        let stand = ExplainStand(policy: policy)
        try stand.ask("www.example.com")
        try stand.answer("alidns", "203.0.113.7")
        stand.pass(.seconds(295))
        try expect(stand.text("www.example.com"), isThatOf: "due-without-prefetch")
    }

    @Test("what is answered before the cache is told before what the cache has")
    func beforeCache() throws {
        let stand = ExplainStand()
        for name in ["www.example.com", "."] {
            #expect(try stand.report(name, .any).next == ["minimal answer to ANY (RFC 8482)"])
            #expect(try stand.report(name, .axfr).next == ["refused with REFUSED"])
            #expect(try stand.report(name, .opt).next == ["refused with FORMERR"])
        }
        stand.serving.setAAAAFilter(true)
        for name in ["www.example.com", "."] {
            #expect(try stand.report(name, .aaaa).next == ["answered with no data: no IPv6 route (filter-aaaa)"])
        }
        #expect(try stand.report("router", .aaaa).next != ["answered with no data: no IPv6 route (filter-aaaa)"])
    }

    @Test("a rule's address family, and what the preferred one decides")
    func family() throws {
        var (strict, soft) = (Rule(match: [try #require(Name("four.example"))]), Rule(match: [.root]))
        strict.terms.family = .ipv4
        soft.terms.family = .preferIPv4
        var policy = ExplainStand.policy
        policy.rules = RuleTable([strict, soft])
        let stand = ExplainStand(policy: policy)
        let excluded = try stand.report("four.example", .aaaa)
        #expect(excluded.route == "answered by the daemon: family = ipv4, by a rule")
        #expect(excluded.ruleSays == ["family = ipv4"] && excluded.next == ["answered by the daemon: no data"])
        #expect(try stand.report("four.example").next.first == "asks alidns")
        let waiting = try stand.report("www.example", .aaaa).next
        #expect(waiting.contains("no data if it has a usable IPv4 address (family = prefer-ipv4)"), "\(waiting)")
        try stand.ask("www.example")
        try stand.answer("alidns", "203.0.113.7", ttl: 60)
        for wait in [1, 100] {
            stand.pass(.seconds(wait))
            let yielding = try stand.report("www.example", .aaaa)
            #expect(yielding.route == "answered by the daemon: family = prefer-ipv4, by a rule")
            #expect(yielding.next == ["answered by the daemon: no data"])
        }
        try stand.ask("www.example", .aaaa)
        #expect(stand.resolver.lookupsInFlight == 0)
    }

    @Test("a provider's answer of private addresses alone is told to be a block")
    func onlyPrivate() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.fail("alidns", .timeout)
        stand.pass(.seconds(1))
        try stand.answer("dnspod", "192.168.1.1")
        let facts = try stand.report("www.example.com").lines.filter { $0.word == "answered" }.map(\.fact)
        #expect(facts.contains { $0.hasSuffix("; 192.168.1.1 blocked by the provider") }, "\(facts)")
    }

    @Test("what sources said and how they failed is told in one order, the latest first")
    func order() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.answer("alidns", "203.0.113.7", ttl: 60)
        stand.pass(.seconds(70))
        try stand.ask("www.example.com")
        try stand.fail("alidns")
        let ages = try stand.report("www.example.com").sources.map(\.ageSeconds)
        #expect(ages.count > 1 && ages == ages.sorted())
    }

    @Test("an expired answer that stands in, and why")
    func stale() throws {
        var policy = ExplainStand.policy
        policy.prefetches = false
        let stand = ExplainStand(policy: policy)
        try stand.ask("www.example.com")
        try stand.answer("alidns", "203.0.113.7", ttl: 60)
        stand.pass(.seconds(90))
        try expect(stand.text("www.example.com"), isThatOf: "stale")
        try stand.ask("www.example.com")
        try stand.fail("alidns")
        try stand.fail("dnspod", .timeout)
        try stand.fail("system", .server)
        #expect(stand.replies.last == "expired, failure")
        stand.pass(.seconds(3))
        try expect(stand.text("www.example.com"), isThatOf: "stale-rechecked")
    }

    @Test("an address that is quarantined, and one that is verified")
    func quarantined() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.answer("alidns", "1.2.3.4", "5.6.7.8")
        try stand.ask("www.example.com")
        stand.pass(.seconds(3))
        try stand.found(.nameMismatch, at: "1.2.3.4")
        try stand.found(.verified, at: "5.6.7.8")
        stand.pass(.seconds(41))
        try expect(stand.text("www.example.com"), isThatOf: "quarantined-address")
    }

    @Test("a name that a rule speaks of")
    func rule() throws {
        var rule = Rule(match: try [#require(Name("corp.example"))])
        rule.upstreams = .system
        rule.terms.stale = false
        var policy = ExplainStand.policy
        policy.rules = RuleTable([rule])
        let stand = ExplainStand(policy: policy)
        try expect(stand.text("wiki.corp.example"), isThatOf: "rule")
    }

    @Test("an answer that contradicts a rule, the rule's marks of genuine answers, and the failure that follows")
    func contradiction() throws {
        var expectation = RuleExpectation()
        (expectation.hasAlias, expectation.maxTTL) = (true, .seconds(3600))
        expectation.networks = [try #require(Prefix("203.0.113.0/24"))]
        var rule = Rule(match: [try #require(Name("example.com"))])
        rule.terms.expectation = expectation
        var policy = ExplainStand.policy
        policy.rules = RuleTable([rule])
        let stand = ExplainStand(policy: policy)
        try stand.ask("mqtt.example.com")
        try stand.answer("alidns", "203.0.113.7")
        try stand.fail("dnspod")
        try stand.answer("system", "198.51.100.4", ttl: 60)
        try expect(stand.text("mqtt.example.com"), isThatOf: "contradiction")
    }

    @Test("the system resolver's answer, which stands in for a provider's")
    func system() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.fail("alidns")
        try stand.fail("dnspod")
        try stand.answer("system", "198.51.100.4")
        stand.pass(.seconds(2))
        try expect(stand.text("www.example.com"), isThatOf: "system-resolver")
    }

    @Test("what others said than the source of the answer, the same or something else")
    func others() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.fail("alidns", .timeout)
        stand.pass(.seconds(1))
        try stand.answer("system", "198.51.100.4", ttl: 60)
        try stand.answer("dnspod", "203.0.113.7", "203.0.113.9")
        try stand.volunteer("alidns", "203.0.113.9", "203.0.113.7")
        stand.pass(.seconds(2))
        try expect(stand.text("www.example.com"), isThatOf: "others")
    }

    @Test("a name that does not exist")
    func negative() throws {
        let stand = ExplainStand()
        try stand.ask("nx.example.com")
        try stand.deny("alidns", .noSuchName)
        stand.pass(.seconds(2))
        try expect(stand.text("nx.example.com"), isThatOf: "negative")
    }

    @Test("a name that is ours")
    func local() throws {
        try expect(ExplainStand().text("localhost"), isThatOf: "local-name")
    }

    @Test("a name without any query")
    func neverAsked() throws {
        try expect(ExplainStand().text("www.example.com"), isThatOf: "never-asked")
    }

    @Test("an answer with a private address")
    func privateAddress() throws {
        let stand = ExplainStand()
        try stand.ask("rebind.example.com")
        try stand.answer("alidns", "192.168.1.1", "203.0.113.7")
        stand.pass(.seconds(2))
        try expect(stand.text("rebind.example.com"), isThatOf: "private-address")
    }

    @Test("a failure that is remembered")
    func failure() throws {
        let stand = ExplainStand(hasSystem: false)
        try stand.ask("www.example.com")
        try stand.fail("alidns")
        try stand.fail("dnspod")
        stand.pass(.seconds(1))
        try expect(stand.text("www.example.com"), isThatOf: "failure-remembered")
    }

    @Test("a lookup that is in flight is joined")
    func inFlight() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        stand.pass(.milliseconds(450))
        try expect(stand.text("www.example.com"), isThatOf: "in-flight")
    }

    @Test(
        "what the next question will do is what it does, whatever has happened",
        arguments: 1...20 as ClosedRange<UInt64>)
    func foretold(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let stand = ExplainStand(hasSystem: seed % 4 > 0)
        // The stand compares each question's outcome with the prediction.
        for _ in 0..<500 {
            let name = ["a", "b", "c"].randomElement(using: &random).map { "\($0).example.com" } ?? ""
            switch Int.random(in: 0..<6, using: &random) {
            case 0...2: try stand.ask(name, Bool.random(using: &random) ? .a : .aaaa)
            case 3...4: try stand.endSomething(&random)
            default: stand.pass(.milliseconds(Int.random(in: 0..<3000, using: &random)))
            }
        }
        #expect(stand.replies.count > 30)
    }

    @Test("an explanation has no effect on the name, and its text fits a screen")
    func changesNothing() throws {
        let stand = ExplainStand()
        try stand.ask("www.example.com")
        try stand.answer("alidns", "203.0.113.7")
        let first = try stand.text("www.example.com")
        for _ in 0..<3 { #expect(try stand.text("www.example.com") == first) }
        #expect(first.split(separator: "\n").count <= 24 && stand.resolver.lookupsInFlight == 0)
        let report = try stand.report("www.example.com")
        #expect(report.sentences.count == first.split(separator: "\n").count - 1)
        #expect(report.sentences.last == "next     answered from the cache")
    }
}
