// The dialect that the settings define: the same bytes as the built-in dialects, every placeholder and digest, and
// replies of every form that a path can reach.

import DNSWire
import HTTPDNS
import Settings
import Testing

struct TemplateDialectTests {
    private static let contexts = ["", "1.2.3.4/32", "2001:db8::/32"].map {
        DialectContext(unixMilliseconds: 1_566_808_087_123, nonce: Array(0x10...0x1F), clientSubnet: Prefix($0))
    }

    private func expectSame(
        _ template: TemplateDialect, _ builtIn: any Dialect, _ questions: [Question], body: String? = nil
    ) throws {
        for context in TemplateDialectTests.contexts {
            let request = try builtIn.request(for: questions, in: context)
            #expect(try template.request(for: questions, in: context) == request)
            #expect(try template.questions(from: request, in: context) == builtIn.questions(from: request, in: context))
        }
        guard let body else { return }
        #expect(template.answers(from: reply(body), to: questions) == builtIn.answers(from: reply(body), to: questions))
        #expect(try template.answers(from: reply(body), to: questions)[0].get().kind == .records)
    }

    @Test("Volcengine as a recipe gives the bytes and answers of the dialect that is built in")
    func volcengine() throws {
        let builtIn = Volcengine(url: "/resolve", account: "1023", secret: "QlgAuFMwNUwN")
        let asked = try question("www.a.com")
        let both = [asked, try question("www.a.com", .aaaa)]
        let body = #"{"cip":"1.2.3.4","host":"www.a.com","ips":["fec0::1","192.0.2.10"],"ttl":52}"#
        try expectSame(Recipes.volcengine(url: "/resolve"), builtIn, both, body: body)
        let byType = Recipes.volcengineByType(url: "/resolve")
        #expect(!byType.asksBothFamilies && byType.supports(.aaaa))
        try expectSame(byType, builtIn, [both[0]], body: body)
        try expectSame(byType, builtIn, [both[1]], body: body)
    }

    @Test("Baidu as a recipe gives the bytes and answers of the dialect that is built in")
    func baidu() throws {
        let builtIn = Baidu(url: "/v4/resolve", account: "100", secret: "1234567890")
        let questions = try ["www.baidu.com", "a.baidu.com"].flatMap { [try question($0), try question($0, .aaaa)] }
        let body =
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.10"],"ttl":61},"#
            + #""ipv6":{"ip":["2001:db8::1"],"ttl":62}},"x.baidu.com":{"ipv4":{"ip":["192.0.2.66"]}}}}"#
        try expectSame(Recipes.baidu(url: "/v4/resolve"), builtIn, questions, body: body)
        let refused = outcome(of: reply(#"{"msg":"x","data":{}}"#), to: questions[0], by: Recipes.baidu(url: ""))
        #expect(refused.isGarbage)
    }

    @Test("UCloud as a recipe gives the bytes and answers of the dialect that is built in")
    func ucloud() throws {
        let builtIn = UCloud(url: "", account: "100000", secret: "AuthSecret")
        let body = #"{"host":"api.ucloud.cn","client_ip":"203.0.113.7","ip_list":["192.0.2.10"],"ttl":600}"#
        try expectSame(
            Recipes.ucloud(url: "/100000/resolve"), builtIn, [try question("api.ucloud.cn")], body: body)
        let other = outcome(of: reply(body), to: try question("b.ucloud.cn"), by: Recipes.ucloud(url: ""))
        #expect(other.error == .wrongQuestion)
    }

    @Test(
        "every digest is taken over what the recipe signs",
        arguments: [
            (Recipe.Digest.md5, "c76bf9c7c5a0e8dec97f8da56c6b459e"),
            (.sha256, "cac47c2565b6dabeb40575dfdb8e6fdb1234d89cfc8e888abbbf42130f847318"),
            (.hmacSHA256, "8957dddc70ed4cc3ce196b72d4d454db43f170352386345f4b9e171afbcc696f"),
        ])
    func digests(digest: Recipe.Digest, expected: String) throws {
        let recipe = try Recipe(
            query: "h={name}&s={signature}", digest: digest, signed: ["b={name}", "a={now}"], sorts: true, joiner: "&",
            v4: "ip")
        let dialect = TemplateDialect(url: "/", secret: "key", recipe: recipe)
        let context = DialectContext(unixMilliseconds: 1_755_525_250_000, nonce: Array(0x10...0x1F))
        let url = try dialect.request(for: [try question("www.example.com")], in: context).url
        #expect(url == "/?h=www.example.com&s=\(expected)")
    }

    @Test("every placeholder has its value, escaped in the query and plain in headers")
    func placeholders() throws {
        let recipe = try Recipe(
            query:
                "names={names}&t={type}&f={family}&a={account}&n={now}&nm={now-ms}&e={expiry}&em={expiry-ms}&r={nonce}"
                + "&c={client-ip}&fixed=a/b&empty=&mix=x{account}y",
            headers: ["X-Who: {account} at {now}", "X-Empty:"], maxNames: 2, lifetimeSeconds: 60,
            v4: "data.{name}", v6: "data.{name}")
        let dialect = TemplateDialect(url: "/p?k=v", account: "a b&c", recipe: recipe)
        let context = DialectContext(
            unixMilliseconds: 1_755_525_250_999, nonce: Array(0x10...0x1F), clientSubnet: Prefix("2001:db8::/32"))
        let questions = [try question("A.example", .aaaa), try question("b.example", .aaaa)]
        let request = try dialect.request(for: questions, in: context)
        #expect(
            request.url == "/p?k=v&names=a.example,b.example&t=28&f=6&a=a%20b%26c&n=1755525250&nm=1755525250999"
                + "&e=1755525310&em=1755525310999&r=101112131415161718191a1b1c1d1e1f&c=2001%3Adb8%3A%3A&fixed=a/b"
                + "&empty=&mix=xa%20b%26cy")
        #expect(request.headers.fields == [.init("X-Who", "a b&c at 1755525250"), .init("X-Empty", "")])
    }

    @Test(
        "paths lead through every shape",
        arguments: [
            ("ip", #"{"ip":["192.0.2.1"]}"#), ("ip", #"{"ip":"192.0.2.1"}"#),
            ("data.{name}.ip", #"{"data":{"WWW.example.com.":{"ip":["192.0.2.1"]}}}"#),
            ("a.1.ips", #"{"a":[{},{"ips":["192.0.2.1"]}]}"#), ("a.1", #"{"a":{"1":"192.0.2.1"}}"#),
            ("*.ip", #"[{"no":1},{"ip":"192.0.2.1"}]"#), ("dns.*.ips", #"{"dns":[{"ips":["192.0.2.1"]},{"ips":[]}]}"#),
            (
                "dns.[host={name}].ips",
                #"{"dns":[{"host":"x.example","ips":["192.0.2.66"]},{"host":"www.example.com","ips":["192.0.2.1"]}]}"#
            ),
            ("v{family}.t{type}", #"{"v4":{"t1":["192.0.2.1"]}}"#),
        ])
    func paths(path: String, body: String) throws {
        let dialect = TemplateDialect(url: "/", recipe: try Recipe(query: "n={name}", v4: path))
        let answer = try dialect.answer(from: reply(body), to: try question("www.example.com"))
        #expect(answer.addresses.map(\.description) == ["192.0.2.1"] && answer.ttlSeconds == 60)
    }

    @Test(
        "what is missing behind the name is emptiness, what is missing before it is garbage",
        arguments: [
            ("data.{name}.ip", #"{"data":{}}"#, true), ("data.{name}.ip", #"{"data":{"www.example.com":{}}}"#, true),
            ("data.{name}.ip", #"{"data":{"www.example.com":{"ip":[]}}}"#, true),
            ("data.{name}.ip", #"{"data":[]}"#, false), ("data.{name}.ip", "{}", false),
            ("data.{name}.ip", #"{"data":{"www.example.com":[]}}"#, false),
            ("data.{name}.ip", #"{"data":{"www.example.com":{"ip":null}}}"#, false),
            ("data.{name}.ip", #"{"data":{"www.example.com":{"ip":["x"]}}}"#, false),
            ("dns.[h={name}].ip", #"{"dns":[{"h":"x"}]}"#, true), ("dns.[h={name}].ip", #"{"dns":{}}"#, false),
            ("*.ip", "[]", true), ("*.ip", "{}", false), ("*.ip", #"[{"x":1}]"#, false), ("a.7", #"{"a":[]}"#, false),
            ("ip", #"{"ip":[]}"#, true), ("ip", "{}", false), ("ip", #"{"ip":{}}"#, false), ("ip", "[]", false),
        ])
    func emptiness(path: String, body: String, isEmpty: Bool) throws {
        let dialect = TemplateDialect(url: "/", recipe: try Recipe(query: "n={name}", v4: path))
        let outcome = outcome(of: reply(body), to: try question("www.example.com"), by: dialect)
        #expect((try? outcome.get().kind) == (isEmpty ? .ambiguousEmpty : nil))
        #expect(outcome.isGarbage == !isEmpty)
    }

    @Test("a refusal is about the account, unless the request says a time that may be wrong")
    func refusals() throws {
        let timeless = TemplateDialect(url: "/", recipe: try Recipe(query: "n={name}", v4: "ip"))
        let asked = try question("www.example.com")
        for status in [401, 403] {
            #expect(outcome(of: reply("", status: status), to: asked, by: timeless).error == .account("\(status)"))
            #expect(outcome(of: reply("", status: status), to: asked, by: Recipes.ucloud(url: "/")).error == .clock)
        }
    }

    @Test("a status that concerns the name refuses neither the account nor the time")
    func nameStatus() throws {
        let recipe = try Recipe(query: "n={name}&t={now}", v4: "ip", nameStatuses: [403])
        let dialect = TemplateDialect(url: "/", recipe: recipe)
        let asked = try question("www.example.com")
        #expect(outcome(of: reply("", status: 403), to: asked, by: dialect).error == .forbidden)
        #expect(outcome(of: reply("", status: 401), to: asked, by: dialect).error == .clock)
    }

    @Test("the server's side takes what a client would have written, and in its time")
    func server() throws {
        let dialect = Recipes.baidu(url: "/v4/resolve")
        let asked = [try question("a.example"), try question("a.example", .aaaa)]
        let request = try dialect.request(for: asked)
        #expect(try dialect.questions(from: request) == asked)
        for (old, new) in [("a.example", "b.example"), ("=100&", "=101&"), ("&t=1", "&t=2"), ("sign=", "sgin=")] {
            let changed = HTTPRequest(url: request.url.replacing(old, with: new))
            #expect(throws: DialectError.account("signature")) { try dialect.questions(from: changed) }
        }
        let late = DialectContext(unixMilliseconds: 1_755_525_550_000, nonce: Array(0x10...0x1F))
        #expect(throws: DialectError.clock) { try dialect.questions(from: request, in: late) }
    }
}
