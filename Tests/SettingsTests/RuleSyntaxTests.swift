// Rules from words: valid values and refusals.

import DNSWire
import Testing

@testable import Settings

struct RuleSyntaxTests {
    private let name: Name

    init() throws { name = try #require(Name("a.example")) }

    private func rule(_ words: [String], beside others: [Settings.Rule] = []) throws -> Settings.Rule {
        try Settings.Rule(for: name, words: words, providers: ["alidns"], nameservers: ["corp"], beside: others)
    }

    private func refusal(_ words: String..., beside others: [Settings.Rule] = []) -> String? {
        do throws(Settings.Rule.WordsError) {
            _ = try Settings.Rule(for: name, words: words, providers: ["alidns"], nameservers: ["corp"], beside: others)
            return nil
        } catch {
            return error.text
        }
    }

    @Test("values may have quotes and brackets or not")
    func values() throws {
        for words in [["answer=192.0.2.1,2001:db8::1"], [#"answer=["192.0.2.1", "2001:db8::1"]"#]] {
            #expect(try rule(words).answer == .addresses(["192.0.2.1", "2001:db8::1"].compactMap { Address($0) }))
        }
        #expect(try rule(["answer=192.0.2.1"]).answer == .addresses([.v4(0xC000_0201)]))
        #expect(try rule(["answer=nxdomain"]) == rule(["answer=\"nxdomain\""]))
        #expect(try rule(["txt=a,b"]).txt == ["a,b"])
        #expect(try rule([#"txt=["a,b"]"#]).txt == ["a,b"])
        #expect(try rule(["txt=v=spf1 -all"]).txt == ["v=spf1 -all"])
        #expect(try rule(["srv=0 5 5060 b.example,1 0 1 ."]).srv.map(\.port) == [5060, 1])
        let rule = try rule(
            ["resolver=alidns", "stale=false", "probe-ports=443,8443", "max-ttl=1m", "connect=80"].dropLast())
        #expect(rule.match == [name] && rule.terms.probePorts == [443, 8443])
        #expect(rule.resolver == .provider("alidns") && rule.terms.stale == false && rule.terms.maxTTL == .seconds(60))
    }

    @Test("what the settings would refuse is refused in the same words")
    func refused() {
        #expect(
            refusal("answer=nxdomian") == """
                rule.answer: found "nxdomian"; allowed: "nxdomain", "nodata", "refused", or an array of 1 to 16 IP \
                addresses; did you mean "nxdomain"?
                """)
        #expect(
            refusal("resolver=alidn") == """
                rule.resolver: found "alidn"; allowed: "httpdns", "system", "link", "alidns", "corp"; did you mean \
                "alidns"?
                """)
        #expect(
            refusal("answer=nodata", "resolver=system")
                == "rule.answer: found with resolver; allowed: without, as no upstream is asked for these names")
        #expect(refusal("answr=nodata")?.hasPrefix("unknown key \"answr\"; did you mean \"answer\"? allowed: ") == true)
        #expect(refusal("nodata") == "found \"nodata\"; allowed: KEY=VALUE, such as answer=nxdomain")
        #expect(refusal("stale=true", "stale=false") == "rule.stale: found for the second time; allowed: each key once")
        #expect(refusal("tags=x") == "rule.tags: found in a rule at run time; allowed: in the settings file")
        #expect(refusal() == "found 0 settings; allowed: 1 to 32")
        for word in ["stale=true\nresolver = \"system\"", "txt=a\u{7}", "match=b.example", "=", "a.b=1", "stale = 1"] {
            #expect(refusal(word) != nil, "\(word)")
        }
        #expect(refusal("txt=" + String(repeating: "x", count: 5000)) != nil)
    }

    @Test(
        "an alias that leads back to the name is refused, by other rules too; a rule that loops already is not at fault"
    )
    func loops() throws {
        var back = Settings.Rule(match: [try #require(Name("b.example"))])
        back.cname = name
        #expect(refusal("cname=x.a.example") != nil)
        #expect(refusal("cname=b.example", beside: [back]) != nil)
        #expect(refusal("cname=b.example") == nil)
        var loop = Settings.Rule(match: [try #require(Name("c.example"))])
        loop.cname = Name("c.example")
        #expect(refusal("cname=b.example", beside: [loop]) == nil)
    }
}
