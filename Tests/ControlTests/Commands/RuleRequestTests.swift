// The command `rule`: the meaning of its words, with and without quotes, and the list of rules.

import DNSWire
import Testing

@testable import Control

@Suite("Requests about rules")
struct RuleRequestTests {
    private let usage = "allowed: rule add NAME KEY=VALUE... [--for DURATION], rule ls, rule rm NAME"

    @Test(
        "words and JSON objects mean the same",
        arguments: [
            ("rule ls", #"{"command":"rule","verb":"ls"}"#, "rules"),
            ("rule rm a.example", #"{"command":"rule","verb":"rm","name":"a.example"}"#, "no rule a.example"),
            (
                "rule add a.example answer=nodata stale=false --for 1h",
                """
                {"command":"rule","verb":"add","name":"a.example","settings":["answer=nodata","stale=false"],"for":"1h"}
                """,
                #"rule a.example ["answer=nodata", "stale=false"] 3600 s"#
            ),
            (
                #"rule add . "txt=a  \"b\"" "#,
                #"{"command":"rule","verb":"add","name":".","settings":["txt=a  \"b\""]}"#,
                #"rule . ["txt=a  \"b\""] until removed"#
            ),
        ])
    func understood(_ line: String, _ object: String, _ expected: String) {
        #expect(outcome(line) == expected)
        #expect(outcome(line + " --json") == expected + " as JSON")
        #expect(outcome(object) == expected + " as JSON")
    }

    @Test("what is missing, too much or no name is refused")
    func refused() {
        for (line, reason) in [
            ("rule", "rule needs a verb; \(usage)"), ("rule set", "unknown verb \"set\" of rule; \(usage)"),
            ("rule add", "rule add needs a name; allowed: rule add NAME KEY=VALUE... [--for DURATION]"),
            (
                "rule add a.example",
                "rule add needs what the rule says; allowed: rule add NAME KEY=VALUE... [--for DURATION]"
            ),
            ("rule add a..b x=1", "\"a..b\" \(isNoName)"),
            ("rule add a x=1 --for 40d", "\"40d\" is not a duration from 1s to 30d, such as 30s, 10m, 2h or 1d"),
            ("rule add a x=1 --from 1h", "unknown argument \"--from\" of rule; \(usage)"),
            ("rule rm", "rule rm needs a name; allowed: rule rm NAME"),
            ("rule rm a b", "unknown argument \"b\" of rule; \(usage)"),
            ("rule rm a --for 1h", "too many arguments of rule rm; allowed: rule rm NAME"),
            ("rule ls a", "too many arguments of rule ls; allowed: rule ls"),
            ("rule add a \"txt=b", "a double quote is not closed"),
        ] { #expect(outcome(line) == "error: \(reason)\n") }
    }

    @Test("the client sends what the shell gave it, whatever is in it")
    func quoted() throws {
        for word in ["answer=nodata", "txt=a b", #"txt=["a \"b\"", "c\\d"]"#, "\"", "\\", "a\tb"] {
            #expect(QuotedWords.split(QuotedWords.quoted(word)) == [word])
            let invocation = try Invocation(arguments: ["rule", "add", "a.example", word])
            guard case .ask(let line, _) = invocation else { continue }
            #expect(
                try Request(line: Array(line.utf8)).command
                    == .rule(.add(try #require(Name("a.example")), [word], seconds: nil)))
        }
        #expect(QuotedWords.split(" a \"\" b") == ["a", "", "b"])
    }

    @Test("a rule is listed with its end, and without rules the list says so")
    func listed() {
        let ending = AddedRuleReport(
            name: "a.example", settings: ["answer=nodata", "txt=a b"], secondsLeft: 600, untilSeconds: 1_700_000_000)
        let lasting = AddedRuleReport(name: ".", settings: ["stale=false"])
        #expect(
            Reply.rules([ending, lasting]).rendered(asJSON: false) == """
                a.example: answer=nodata "txt=a b", until 2023-11-14 22:13:20Z (10m)
                .: stale=false

                """)
        #expect(
            Reply.rules([ending]).rendered(asJSON: true) == """
                {"rules":[{"left_s":600,"name":"a.example",\
                "settings":["answer=nodata","txt=a b"],"until_s":1700000000}]}

                """)
        #expect(Reply.rules([]).rendered(asJSON: false) == "no rule was added\n")
        #expect(Reply.ruleRemoved("a.example").rendered(asJSON: false) == "removed the rule for a.example\n")
    }
}
