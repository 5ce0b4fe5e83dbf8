// The lab without sockets: its paths, its faults and its control endpoint.

import DNSWire
import HTTPDNS
import Testing
import httpdns_lab

struct LabTests {
    private let lab: Lab
    private let control: ControlPaths

    init() throws {
        lab = Lab(try ZoneParser.zone(from: ZoneTests.text, file: "test.zone"))
        control = ControlPaths(lab)
    }

    private func post(_ url: String) -> Int {
        control.respond(to: HTTPRequest(method: .post, url: url)).status
    }

    private func get(_ url: String) -> String {
        String(decoding: control.respond(to: HTTPRequest(url: url)).body, as: UTF8.self)
    }

    private func fault(_ url: String) -> Fault? {
        lab.respond(to: HTTPRequest(url: url)).fault
    }

    @Test("every dialect has its path, with and without a provider", arguments: ["", "/p/alpha"], Dialects.names)
    func paths(prefix: String, dialectName: String) throws {
        let entry = try #require(Dialects.entry(named: dialectName))
        let dialect = entry.make(prefix + entry.path)
        let asked = try question("www.example")
        let (reply, fault) = lab.respond(to: try dialect.request(for: asked))
        #expect(fault == nil)
        #expect(try dialect.answer(from: reply, to: asked).addresses.map(\.description) == ["192.0.2.1", "192.0.2.2"])
    }

    @Test("Alibaba's dialects are answered in both families at once, and each strange account is refused by its code")
    func aliCloud() throws {
        let asked = [try question("www.example"), try question("www.example", .aaaa), try question("nope.example")]
        let expected = ["192.0.2.1 192.0.2.2 300", "2001:db8::1 300"]
        for (dialectName, missing) in [("alicloud-signed", "ambiguousEmpty 30"), ("alicloud-v2-gcm", "noSuchName 30")] {
            let dialect = try #require(Dialects.make(named: dialectName, url: "/p/alpha/"))
            let questions = asked + [try question("nope.example", .aaaa)]
            let (reply, _) = lab.respond(to: try dialect.request(for: questions))
            #expect(dialect.heard(reply, questions) == expected + [missing, missing])
        }
        let strangers: [(any Dialect, String)] = [
            (AliCloud(url: "", account: "100000", secret: "other"), "InvalidSignature"),
            (AliCloud(url: "", account: "4711", secret: "other"), "AccountNotExists"),
            (try AliCloudV2(url: "", account: "100000", secret: "00", cipher: .none), "InvalidSignature"),
        ]
        for (dialect, code) in strangers {
            let (reply, _) = lab.respond(to: try dialect.request(for: asked[0]))
            #expect(dialect.heard(reply, [asked[0]]) == ["account(\"\(code)\")"])
        }
        let account = AliDNSAccount(uid: "9999", accessKeyID: "testAK", accessKeySecret: "other")
        let (reply, _) = lab.respond(to: try JSONDialect(url: "/resolve", account: account).request(for: asked[0]))
        #expect(reply.status == 401)
    }

    @Test("the list of service nodes is there, under a fault of its provider too")
    func nodeList() throws {
        let listing = AliCloudNodes(url: "/p/alpha", account: "100000", region: "global")
        let request = listing.request(in: DialectContext(unixMilliseconds: 0, nonce: []))
        let (reply, none) = lab.respond(to: request)
        #expect(none == nil)
        #expect(try listing.nodes(in: reply, allowsPrivate: false).text == "192.0.2.53 192.0.2.54 2001:db8::53")
        #expect(post("/fault?kind=hang&provider=alpha") == 200)
        #expect(lab.respond(to: request).fault == .hang)
        #expect(get("/requests").contains(#""providers":{"alpha":2}"#))
    }

    @Test("Alibaba's batch call replies with a list, also about one name; its call for one name with an object")
    func batchOfOne() {
        let body = { (call: String) in
            let reply = lab.respond(to: HTTPRequest(url: "/100000/\(call)?host=www.example&query=4")).reply
            return String(decoding: reply.body, as: UTF8.self)
        }
        #expect(body("resolve").hasPrefix(#"{"dns":[{"host":"www.example","client_ip":"#))
        #expect(body("d").hasPrefix(#"{"host":"www.example","ips":["#))
    }

    @Test("/dns-query replies with JSON on request")
    func jsonAtDoHPath() throws {
        let dialect = JSONDialect(url: "/dns-query")
        let asked = try question("www.example", .aaaa)
        let (reply, _) = lab.respond(to: try dialect.request(for: asked))
        #expect(try dialect.answer(from: reply, to: asked).addresses.map(\.description) == ["2001:db8::1"])
    }

    @Test(
        "unknown paths are 404, requests without a question are 400",
        arguments: [
            ("/", 404), ("/p/alpha", 404), ("/p/", 404), ("/x", 404), ("/d", 400), ("/p/a/resolve", 400),
            ("/dns-query?dns=AAAA", 400), ("/d?dn=a.example&token=", 401),
        ])
    func badRequests(url: String, status: Int) {
        #expect(lab.respond(to: HTTPRequest(url: url)).reply.status == status)
    }

    @Test("requests are counted by provider and by question until a reset")
    func counts() {
        for url in ["/d?dn=www.example", "/p/alpha/d?dn=WWW.example", "/p/alpha/resolve?name=nope.example&type=28"] {
            _ = lab.respond(to: HTTPRequest(url: url))
        }
        let counted = get("/requests")
        #expect(
            counted.hasPrefix(
                """
                {"names":{"nope.example":1,"www.example":2},"providers":{"alpha":2,"default":1},\
                "questions":{"alpha nope.example AAAA":1,"alpha www.example A":1,"default www.example A":1},\
                "recent":[
                """))
        #expect(counted.hasSuffix(#"],"total":3}"# + "\n"))
        #expect(post("/reset") == 200)
        #expect(get("/requests") == #"{"names":{},"providers":{},"questions":{},"recent":[],"total":0}"# + "\n")
    }

    @Test("the last hundred requests are shown as they came, refused ones too")
    func recent() {
        for number in 0..<101 { _ = lab.respond(to: HTTPRequest(url: "/d?dn=n\(number).example")) }
        let headers = HTTPHeaders([.init("Authorization", "secret")])
        _ = lab.respond(to: HTTPRequest(method: .post, url: "/nowhere", headers: headers))
        let seen = get("/requests")
        #expect(seen.contains(#""recent":[{"headers":{},"method":"GET","target":"/d?dn=n2.example"},"#))
        #expect(
            seen.contains(
                #",{"headers":{"Authorization":"secret"},"method":"POST","target":"/nowhere"}],"total":101}"#))
    }

    @Test("a request for several names counts once, its names count each, and the fault of one of them hits it")
    func batches() throws {
        let dialect = DNSPodHTTPS(url: "/p/alpha/d", token: "567890")
        let asked = try ["www.example", "nope.example", "x.any.example"].map { try question($0) }
        #expect(post("/fault?kind=delay&value=50&name=x.any.example") == 200)
        let (reply, fault) = lab.respond(to: try dialect.request(for: asked))
        #expect(fault == .delay(milliseconds: 50))
        #expect(
            String(decoding: reply.body, as: UTF8.self) == """
                www.example.:192.0.2.1;192.0.2.2,300|203.0.113.7
                nope.example.:0|203.0.113.7
                x.any.example.:192.0.2.9,300|203.0.113.7
                """)
        let (other, none) = lab.respond(to: try dialect.request(for: try question("www.example", .aaaa)))
        #expect(none == nil)
        #expect(other.body == Array("www.example.:2001:db8::1,300|203.0.113.7".utf8))
        #expect(
            get("/requests").hasPrefix(
                """
                {"names":{"nope.example":1,"www.example":2,"x.any.example":1},"providers":{"alpha":2},\
                "questions":{"alpha nope.example A":1,"alpha www.example A":1,"alpha www.example AAAA":1,\
                "alpha x.any.example A":1},
                """))
    }

    @Test("a fault applies to the requests that it names, and the most specific fault wins")
    func faultScopes() {
        #expect(post("/fault?kind=hang") == 200)
        #expect(post("/fault?kind=empty&provider=alpha") == 200)
        #expect(post("/fault?kind=status&value=503&retry-after=7&name=www.example") == 200)
        #expect(post("/fault?kind=delay&value=50&provider=alpha&name=WWW.example") == 200)
        #expect(fault("/d?dn=a.example") == .hang)
        #expect(fault("/p/alpha/d?dn=a.example") == .empty)
        #expect(fault("/d?dn=www.example") == .status(503, retryAfter: "7"))
        #expect(fault("/p/alpha/d?dn=www.example") == .delay(milliseconds: 50))
        #expect(get("/faults").contains(#"{"fault":"status 503 retry-after 7","name":"www.example"}"#))
        #expect(post("/fault?kind=none&provider=alpha&name=www.example") == 200)
        #expect(fault("/p/alpha/d?dn=www.example") == .status(503, retryAfter: "7"))
        #expect(post("/reset") == 200)
        #expect(fault("/d?dn=www.example") == nil)
    }

    @Test("every kind is known by the name it is shown with", arguments: Fault.plain.map(\.name))
    func kinds(name: String) {
        #expect(post("/fault?kind=\(name)") == 200)
        #expect(fault("/d?dn=www.example")?.description == name)
        #expect(post("/fault?kind=hang-long-connection&value=3") == 200)
        #expect(fault("/d?dn=www.example")?.description == "hang-long-connection 3")
    }

    @Test(
        "faults of the content are said in the dialect's own way",
        arguments: [
            ("nothing", "/d?dn=www.example", ""), ("private", "/d?dn=www.example", "192.168.1.1,300"),
            ("private", "/resolve?name=www.example&type=28", #""data":"fd00::1","name":"www.example.""#),
            ("wrong-name", "/resolve?name=www.example", #""data":"198.51.100.66","name":"x.www.example.""#),
        ])
    func falsehoods(kind: String, url: String, said: String) {
        #expect(post("/fault?kind=\(kind)") == 200)
        let body = String(decoding: lab.respond(to: HTTPRequest(url: url)).reply.body, as: UTF8.self)
        #expect(said.isEmpty ? body.isEmpty : body.contains(said))
    }

    @Test("signatures are checked by the lab's clock, which a fault sets ahead")
    func clock() throws {
        let dialect = UCloud(url: "/p/alpha", account: "100000", secret: "AuthSecret")
        let asked = try question("www.example")
        #expect(post("/fault?kind=clock&value=120&provider=alpha") == 200)
        let (refusal, _) = lab.respond(to: try dialect.request(for: asked))
        #expect(refusal.status == 401)
        let date = try #require(refusal.headers["Date"].flatMap { HTTPDate($0.utf8.span) })
        #expect(date.unixSeconds == 1_755_525_250 + 120)
        let ours = try dialect.request(for: [asked], in: .test(unixSeconds: date.unixSeconds))
        #expect(lab.respond(to: ours).reply.status == 200)
    }

    @Test(
        "a bad command changes nothing",
        arguments: [
            "/fault?kind=bogus", "/fault", "/fault?kind=delay", "/fault?kind=delay&value=-1",
            "/fault?kind=delay&value=600001",
            "/fault?kind=status&value=99", "/fault?kind=clock", "/fault?kind=clock&value=x",
            "/fault?kind=hang-long-connection&value=0", "/fault?kind=hang&name=a..b", "/record?type=A&data=1.2.3.4",
            "/record?name=www.example&type=A&data=x", "/record?name=www.example&type=A&data=1.2.3.4&ttl=x",
            "/record?name=www.example&type=NOPE",
        ])
    func badCommands(url: String) {
        #expect(post(url) == 400)
        #expect(get("/faults") == "[]\n")
        #expect(
            lab.respond(to: HTTPRequest(url: "/d?dn=www.example")).reply.body == Array("192.0.2.1;192.0.2.2,300".utf8))
    }

    @Test("records change at run time, and come back with a reset")
    func records() {
        #expect(post("/record?name=www.example&type=A&data=192.0.2.7,192.0.2.8&ttl=5") == 200)
        #expect(
            lab.respond(to: HTTPRequest(url: "/d?dn=www.example")).reply.body == Array("192.0.2.7;192.0.2.8,5".utf8))
        #expect(post("/record?name=www.example&type=A") == 200)
        #expect(lab.respond(to: HTTPRequest(url: "/d?dn=www.example")).reply.body.isEmpty)
        #expect(post("/reset") == 200)
        #expect(!lab.respond(to: HTTPRequest(url: "/d?dn=www.example")).reply.body.isEmpty)
    }

    @Test("the control endpoint knows its paths only")
    func controlPaths() {
        #expect(post("/requests") == 404)
        #expect(control.respond(to: HTTPRequest(url: "/reset")).status == 404)
    }
}

struct LabArgumentsTests {
    @Test("a whole command line is read")
    func whole() throws {
        let line = "--zone z --http 127.0.0.1:0 --https [::1]:8443 --cert c --key k --control 127.0.0.1:9"
        var expected = LabArguments()
        expected.zone = "z"
        expected.http = SocketAddress("127.0.0.1:0")
        expected.https = SocketAddress("[::1]:8443")
        expected.control = SocketAddress("127.0.0.1:9")
        expected.certificate = "c"
        expected.key = "k"
        #expect(try LabArguments.parse(line.split(separator: " ").map(String.init)) == .run(expected))
        #expect(try LabArguments.parse(["--help"]) == .help)
        #expect(try LabArguments.parse(["--zone", "z", "--version"]) == .version)
    }

    @Test(
        "mistakes name what was found",
        arguments: [
            ("", "no zone"), ("--zone", "--zone needs a value"), ("--zone z", "nothing to listen on"),
            ("-z", "unknown option -z"),
            ("--zone z --https 127.0.0.1:1", "--https without a certificate"),
            ("--zone z --http localhost:1", "--http localhost:1 is no address with a port"),
            ("--zone z --http 127.0.0.1", "--http 127.0.0.1 is no address with a port"),
            ("--zone z --http ::1:80", "--http ::1:80 is no address with a port"),
            ("--zone z --http [127.0.0.1]:80", "--http [127.0.0.1]:80 is no address with a port"),
            ("--zone z --http 127.0.0.1:65536", "--http 127.0.0.1:65536 is no address with a port"),
        ])
    func mistakes(line: String, finding: String) {
        #expect { try LabArguments.parse(line.split(separator: " ").map(String.init)) } throws: {
            ($0 as? LabArguments.UsageError)?.finding == finding
        }
    }
}
