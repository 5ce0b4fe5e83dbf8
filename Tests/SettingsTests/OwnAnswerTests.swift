// Answers of rules: valid values, combinations that are excluded, and aliases in a circle.

import DNSWire
import Testing

@testable import Settings

struct OwnAnswerTests {
    private func complaints(_ text: String) -> [String] {
        do throws(SettingsError) {
            _ = try Settings.parse(bytes: Array(text.utf8), file: "f")
            return []
        } catch {
            return error.complaints.map(\.description)
        }
    }

    private func rule(_ name: String, _ keys: String...) -> String {
        "[[rule]]\nmatch = [\"\(name)\"]\n" + keys.map { $0 + "\n" }.joined()
    }

    @Test("an address needs brackets, a list holds 1 to 16, and a text has its bounds")
    func bounds() {
        #expect(
            complaints(rule("a.example", "answer = \"192.0.2.1\"")) == [
                """
                f:3:10: rule.answer: found "192.0.2.1"; allowed: "nxdomain", "nodata", "refused", or an array of 1 to \
                16 IP addresses; brackets are missing: write ["192.0.2.1"]
                """
            ])
        #expect(
            complaints(rule("a.example", "answer = []"))
                == ["f:3:10: rule.answer: found 0 elements; allowed: an array of 1 to 16 IP addresses"])
        let longest = String(repeating: "\\\"", count: 2000)
        #expect(complaints(rule("a.example", "txt = [\"\(longest)\"]")) == [])
        for wrong in [longest + "x", "\\t"] {
            let found = complaints(rule("a.example", "txt = [\"\(wrong)\"]"))
            #expect(found.count == 1 && found[0].hasSuffix("; allowed: at most 2000 bytes without control characters"))
        }
        for wrong in ["0 5 5060", "0 5 65536 a.example", "00 5 1 a.example", "0  5 1 a.example", "0 5 1 a..example"] {
            #expect(complaints(rule("a.example", "srv = [\"\(wrong)\"]")).count == 1, "\(wrong)")
        }
        #expect(complaints(rule("_sip._udp.example", "srv = [\"0 0 0 .\"]", "txt = [\"\"]")) == [])
    }

    @Test("keys that exclude each other are refused with both names")
    func contradictions() {
        let cases = [
            (
                ["cname = \"b.example\"", "answer = \"nodata\"", "txt = [\"x\"]"],
                """
                cname: found with answer and txt; allowed: without, as an alias has no other records (RFC 1034 section \
                3.6.2)
                """
            ),
            (
                ["answer = \"refused\"", "srv = [\"0 0 0 .\"]"],
                "answer: found with srv; allowed: without, or an array of IP addresses"
            ),
            (
                ["extended-error = \"blocked\"", "txt = [\"x\"]"],
                "extended-error: found without answer; write, for example, answer = \"nxdomain\""
            ),
            (
                ["txt = [\"x\"]", "stale = true", "resolver = \"system\""],
                "txt: found with resolver, stale; allowed: without, as no upstream is asked for these names"
            ),
        ]
        for (keys, complaint) in cases {
            let text = "[[rule]]\nmatch = [\"a.example\"]\n" + keys.joined(separator: "\n")
            let column = (keys[0].firstIndex(of: "=")?.utf16Offset(in: keys[0]) ?? 0) + 3
            #expect(complaints(text) == ["f:3:\(column): rule.\(complaint)"])
        }
    }

    @Test("an alias that leads back is refused; a rule with a resolver for the target ends the loop")
    func loops() {
        let fault = { (line: Int, target: String) in
            """
            f:\(line):9: rule.cname: found "\(target)", which leads back by this rule or others; allowed: a name \
            without such a rule; exempt it by a rule of its own with resolver
            """
        }
        let own = rule("example", "cname = \"www.example\"")
        #expect(complaints(own) == [fault(3, "www.example")])
        #expect(complaints(own + rule("www.example", "resolver = \"httpdns\"")) == [])
        #expect(complaints(own + rule("www.example", "answer = [\"192.0.2.1\"]")) == [])
        let nameserver = "[[nameserver]]\nname = \"corp\"\nservers = [\"192.0.2.1\"]\nnames = [\"www.example\"]\n"
        #expect(complaints(own + nameserver) == [])
        // The first rule for a name counts.
        #expect(
            complaints(
                own + rule("www.example", "cname = \"x.example\"") + rule("www.example", "resolver = \"system\""))
                == [fault(3, "www.example"), fault(6, "x.example")])
        let chain = (0...32).map {
            rule("n\($0)", "cname = \"n\($0 + 1).test\"") + rule("n\($0).test", "cname = \"n\($0 + 1)\"")
        }
        #expect(!complaints(chain.joined()).isEmpty)
        #expect(
            complaints(rule("a.example", "cname = \"b.example\"") + rule("b.example", "cname = \"c.example\"")) == [])
    }
}
