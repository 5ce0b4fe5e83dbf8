// The meaning of command lines about verified addresses, and the exact error text for lines without one.

import Testing

@Suite("Requests about verified addresses")
struct ProbeRequestTests {
    @Test(
        "words and JSON objects mean the same",
        arguments: [
            ("verify A.example.", "{\"command\":\"verify\",\"name\":\"A.example\"}", "verify A.example"),
            ("verdicts", "{\"command\":\"verdicts\"}", "verdicts of all"),
            ("verdicts a.example", "{\"command\":\"verdicts\",\"name\":\"a.example\"}", "verdicts a.example"),
            (
                "report a.example 192.0.2.1",
                "{\"command\":\"report\",\"name\":\"a.example\",\"address\":\"192.0.2.1\"}",
                "report a.example 192.0.2.1"
            ),
            (
                "report a.example 2001:DB8:0::1",
                "{\"command\":\"report\",\"address\":\"2001:db8::1\",\"name\":\"a.example\"}",
                "report a.example 2001:db8::1"
            ),
            ("evidence", "{\"command\":\"evidence\"}", "evidence"),
            ("audit", "{\"command\":\"audit\"}", "audit"),
            ("whois 192.0.2.1", "{\"command\":\"whois\",\"address\":\"192.0.2.1\"}", "whois 192.0.2.1"),
        ])
    func understood(_ line: String, _ object: String, _ expected: String) {
        #expect(outcome(line) == expected)
        #expect(outcome(line + " --json") == expected + " as JSON")
        #expect(outcome(object) == expected + " as JSON")
    }

    @Test(
        "what is missing, too much, no name or no address is refused",
        arguments: [
            ("verify", "verify needs a name; allowed: verify NAME"),
            ("verify a..b", "\"a..b\" \(isNoName)"),
            ("verify a b", "unknown argument \"b\" of verify; allowed: verify NAME"),
            ("verify --all", "unknown argument \"--all\" of verify; allowed: verify NAME"),
            ("verdicts a b", "unknown argument \"b\" of verdicts; allowed: verdicts [NAME]"),
            ("report", "report needs a name; allowed: report NAME ADDRESS"),
            ("report a", "report needs an address; allowed: report NAME ADDRESS"),
            ("report a 192.0.2.1 443", "unknown argument \"443\" of report; allowed: report NAME ADDRESS"),
            ("report a 192.0.2.1:443", "\"192.0.2.1:443\" is not an IP address"),
            ("report 192.0.2.1 a", "\"a\" is not an IP address"),
            ("evidence a", "unknown argument \"a\" of evidence; allowed: --json"),
            ("whois", "whois needs an address; allowed: whois ADDRESS"),
            ("whois a\u{1B}[2J", "\"a\\u{1B}[2J\" is not an IP address"),
            ("whois [2001:db8::1]", "\"[2001:db8::1]\" is not an IP address"),
            ("verdict", "unknown command \"verdict\"; did you mean \"verdicts\"? \(allowed)"),
        ])
    func refused(_ line: String, _ reason: String) {
        #expect(outcome(line) == "error: \(reason)\n")
    }

    @Test("an object that lacks something, or has it in another form, is refused as JSON")
    func refusedObjects() {
        for object in [
            "{\"command\":\"verify\"}", "{\"command\":\"verify\",\"name\":1}",
            "{\"command\":\"report\",\"name\":\"a\"}",
            "{\"command\":\"report\",\"address\":\"192.0.2.1\"}", "{\"command\":\"whois\",\"name\":\"192.0.2.1\"}",
            "{\"command\":\"whois\",\"address\":[1]}",
        ] {
            #expect(outcome(object).hasPrefix("{\"error\":"), "\(object)")
        }
    }
}
