// Parameters of custom resolution that no dialect can carry, and rules that set them without a provider.

private func provider(_ dialect: String, _ lines: String) -> String {
    "[[provider]]\nname = \"a\"\ndialect = \"\(dialect)\"\nurl = \"https://192.0.2.1/\"\naccount = \"1\"\n"
        + "key-file = \"/k\"\n\(lines)\n"
}

private func rule(_ lines: String) -> String { "[[rule]]\nmatch = [\"b.example\"]\n\(lines)" }

private func query(_ names: ClosedRange<Int>) -> String {
    "query = {\(names.map { "\"sdns-\($0)\" = \"v\"" }.joined(separator: ", "))}"
}

private let allowedQuery =
    "a table of up to 10 names \"sdns-NAME\" of letters, digits, \"-\" and \"_\", each with a string of letters, "
    + "digits, \"-\", \"_\" and \"=\"; 1,000 bytes in all"
private let allowedTags =
    "an array of up to 5 different tags of letters, digits and \"-\"; 64 bytes with commas between them"
private let noProvider =
    "this [[rule]] has query, tags or app-id and no provider that gets them; write resolver = with the name of a "
    + "[[provider]]"

let wrongParameters: [Case] =
    [
        #"{"sdns-" = "v"}"#, #"{"sdns-a" = ""}"#, #"{"sdns-a" = "1&b=2"}"#, #"{"sdns-a" = "é"}"#,
        #"{"sdns-a b" = "v"}"#,
        #"{"sdns-a" = "\n"}"#, "{\"sdns-a\" = \"\(String(repeating: "v", count: 995))\"}",
        String(query(0...10).dropFirst("query = ".count)),
    ].map {
        Case(
            provider("alicloud", "query = \($0)"),
            "f:7:9: provider.query: found a table; allowed: \(allowedQuery)")
    }
    + [
        #"["a", "a"]"#, #"["a,b"]"#, #"[""]"#, #"["a", "b", "c", "d", "e", "f"]"#,
        "[\"\(String(repeating: "t", count: 65))\"]",
    ].map {
        Case(
            provider("alicloud-v2", "tags = \($0)"),
            "f:7:8: provider.tags: found an array; allowed: \(allowedTags)")
    } + [
        Case(
            provider("baidu", "query = {\"sdns-a\" = \"v\"}\ntags = [\"a\"]\napp-id = \"a\""),
            #"f:7:9: provider.query: found with dialect "baidu"; allowed: with "alicloud", "alicloud-v2""#,
            #"f:8:8: provider.tags: found with dialect "baidu"; allowed: with "alicloud-v2", "volcengine""#,
            #"f:9:10: provider.app-id: found with dialect "baidu"; allowed: with "volcengine", "ucloud""#),
        Case(
            provider("volcengine", "tags = [\"a\", \"b\"]"),
            #"f:7:8: provider.tags: found with dialect "volcengine"; allowed: one tag"#),
        Case(
            provider("ucloud", rule("resolver = \"a\"\ntags = [\"a\"]")),
            #"f:10:8: rule.tags: found with dialect "ucloud"; allowed: with "alicloud-v2", "volcengine""#),
        Case(provider("ucloud", rule("app-id = \"a\"")), "f:7:1: \(noProvider)"),
        Case(provider("ucloud", rule("resolver = \"system\"\napp-id = \"a\"")), "f:7:1: \(noProvider)"),
        Case(
            provider("alicloud", query(1...6)) + rule("resolver = \"a\"\n\(query(7...11))"),
            """
            f:11:9: rule.query: found too many parameters with those of the provider; allowed: 10 and 1,000 bytes in \
            all
            """
        ),
        // The parameters of a parent domain also apply to the second name of a rule.
        Case(
            provider("alicloud", "") + rule("resolver = \"a\"\n\(query(1...6))\n")
                + "[[rule]]\nmatch = [\"c.example\", \"a.b.example\"]\nresolver = \"a\"\n\(query(7...11))",
            """
            f:15:9: rule.query: found too many parameters with those of the provider; allowed: 10 and 1,000 bytes in \
            all
            """
        ),
    ]
