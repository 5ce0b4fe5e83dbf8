// Lists of service nodes: requests, replies and the lab's side for Alibaba (providers.md 2.4), and the text in which
// every vendor's list is stored.

import DNSWire
import HTTPDNS
import Testing

struct AliCloudNodesTests {
    private let listing = AliCloudNodes(account: "100000", region: "global")
    private let context = DialectContext(unixMilliseconds: 0, nonce: [])

    private func nodes(_ body: String, status: Int = 200) -> Result<ServiceAddresses, DialectError> {
        Result { () throws(DialectError) in
            try listing.nodes(in: reply(body, status: status), allowsPrivate: false)
        }
    }

    private func text(_ body: String) -> String {
        switch nodes(body) {
        case .success(let nodes): nodes.text
        case .failure(.garbage): "garbage"
        case .failure(let error): "\(error)"
        }
    }

    @Test("the request says account and region, and is not signed")
    func request() {
        let listing = AliCloudNodes(url: "https://203.107.1.1/", account: "100000", region: "global")
        #expect(listing.request(in: context) == HTTPRequest(url: "https://203.107.1.1/100000/ss?region=global"))
        #expect(AliCloudNodes(account: "1", region: "cn").request(in: context).url == "/1/ss?region=cn")
    }

    @Test("the vendor's own reply: both families, without ports")
    func plain() throws {
        let heard = try nodes(
            #"{"service_ip":["203.107.1.97","203.107.1.100"],"service_ipv6":["2401:b180:2000:20::10"]}"#
        ).get()
        #expect(heard.addresses.map(\.description) == ["203.107.1.97", "203.107.1.100", "2401:b180:2000:20::10"])
        #expect(heard.nodes.allSatisfy { $0.port == nil } && !heard.isDisabled)
    }

    @Test(
        "what is in a list, and what is left out of it",
        arguments: [
            (
                #"{"service_ip":["203.0.113.1","203.0.113.2"],"service_ip_port":[8080,8081],"statistics":{}}"#,
                "203.0.113.1:8080 203.0.113.2:8081"
            ),
            (
                #"{"service_ip":["x","203.0.113.2","203.0.113.3"],"service_ip_port":[1,"2"]}"#,
                "203.0.113.2:2 203.0.113.3"
            ),
            (#"{"service_ip":["203.0.113.1","203.0.113.2"],"service_ip_port":[0,443]}"#, "203.0.113.2:443"),
            (#"{"service_ip":["203.0.113.1"],"service_ip_port":[65536]}"#, "garbage"),
            (#"{"service_ipv6":["2001:db8::1"],"service_ipv6_port":[444],"service_ip":null}"#, "[2001:db8::1]:444"),
            (#"{"service_ip":["203.0.113.1","203.0.113.1"]}"#, "203.0.113.1"),
            (#"{"service_ip":["2001:db8::1"],"service_ipv6":["203.0.113.1"]}"#, "garbage"),
            (#"{"service_ip":["203.0.113.1"],"service_status":"disable"}"#, "disable 203.0.113.1"),
            (#"{"service_ip":["203.0.113.1"],"service_status":"enable"}"#, "203.0.113.1"),
            (#"{"service_ip":[],"service_status":"disable"}"#, "disable"),
            ("{}", "garbage"), ("", "garbage"), ("[]", "garbage"), (#"{"service_ip":"203.0.113.1"}"#, "garbage"),
            (#"{"service_ip":[7]}"#, "garbage"), (#"{"service_ip":["203.0.113.1:80"]}"#, "garbage"),
        ])
    func lists(body: String, expected: String) {
        #expect(text(body) == expected)
    }

    @Test(
        "addresses that no service on the Internet has are refused",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1",
            "::ffff:127.0.0.1", "::ffff:203.0.113.1", "64:ff9b::a00:1", "fc00::1", "fdff::1", "fe80::1", "febf::1",
            "ff02::1",
        ])
    func unusable(address: String) throws {
        let list = address.contains(":") ? "service_ipv6" : "service_ip"
        #expect(text("{\"\(list)\":[\"\(address)\"]}") == "garbage")
        let body = reply("{\"\(list)\":[\"\(address)\"]}")
        let isPrivateToo = try listing.nodes(in: body, allowsPrivate: true)
        #expect(isPrivateToo.addresses.map(\.description) == [address])
    }

    @Test("neighbours of those are taken")
    func usable() {
        for address in ["9.255.255.255", "11.0.0.0", "100.128.0.0", "172.32.0.0", "192.167.1.1", "223.255.255.255"] {
            #expect(text("{\"service_ip\":[\"\(address)\"]}") == address)
        }
        #expect(text(#"{"service_ipv6":["2400:3200::1"]}"#) == "2400:3200::1")
    }

    @Test("at most 16 are kept, the first ones")
    func bound() throws {
        let many = (1...40).map { "\"203.0.113.\($0)\"" }.joined(separator: ",")
        let heard = try nodes("{\"service_ip\":[\(many)]}").get()
        #expect(heard.nodes.count == 16 && heard.addresses[15].description == "203.0.113.16")
        let words = (1...17).map { "203.0.113.\($0)" }
        #expect(ServiceAddresses(text: words.joined(separator: " ")) == nil)
        #expect(ServiceAddresses(text: words.dropLast().joined(separator: " "))?.nodes.count == 16)
    }

    @Test("failures are known by their code or status")
    func failures() {
        #expect(nodes(#"{"code":"InvalidAccount"}"#, status: 403) == .failure(.account("InvalidAccount")))
        #expect(nodes("", status: 503) == .failure(.status(503)))
        #expect(nodes("", status: 429) == .failure(.throttled(retryAfterSeconds: nil)))
    }

    @Test(
        "the text is read as it was written",
        arguments: [
            "203.0.113.1", "203.0.113.1 203.0.113.2:8080 2001:db8::1 [2001:db8::2]:443", "disable",
            "node.example b.node.example:8080 203.0.113.1",
            "disable 203.0.113.1:1",
        ])
    func text(text: String) {
        #expect(ServiceAddresses(text: text)?.text == text)
    }

    @Test(
        "a text that nothing was written as is none",
        arguments: [
            "", " ", "x", "203.0.113.1,203.0.113.2", "203.0.113.1:", "203.0.113.1:0", "203.0.113.1:080",
            "203.0.113.1:65536", "203.0.113.1:+1", "[203.0.113.1]:80", "[2001:db8::1]", "[2001:db8::1]:",
            "203.0.113.1 disable",
            "203.0.113.1 203.0.113.1", "disabled", "203.0.113.1\n", "localhost", "node.example:", "node.example:0",
            "node.example:080", "node.example:80:80", "203.0.113.256", "Node.Example", "a b.example", "a..example",
            "a.example b.example c.example d.example e.example",
        ])
    func wrongTexts(text: String) {
        #expect(ServiceAddresses(text: text) == nil)
    }

    @Test("the lab's side says both lists, with ports where one is given, and refuses strangers")
    func server() throws {
        let nodes = try #require(ServiceAddresses(text: "disable 203.0.113.1 203.0.113.2:8080 2001:db8::1"))
        let asked = AliCloudNodes(account: "100000", region: "hk").request(in: context)
        let said = AliCloudNodes.reply(with: nodes, to: asked, account: "100000")
        #expect(
            String(decoding: said.body, as: UTF8.self)
                == #"{"service_ip":["203.0.113.1","203.0.113.2"],"service_ip_port":[443,8080],"#
                + #""service_ipv6":["2001:db8::1"],"service_status":"disable"}"#)
        #expect(try listing.nodes(in: said, allowsPrivate: false).addresses == nodes.addresses)
        let refusals = [
            (HTTPRequest(url: "/100001/ss?region=cn"), 403), (HTTPRequest(url: "/100000/ss?region=mars"), 400),
            (HTTPRequest(method: .post, url: "/100000/ss"), 405), (HTTPRequest(url: "/100000/ss"), 200),
        ]
        for (request, status) in refusals {
            #expect(AliCloudNodes.reply(with: nodes, to: request, account: "100000").status == status)
        }
    }

    @Test("cut lists and random bytes never crash, and give only addresses that were said")
    func malformed() {
        let body =
            #"{"service_ip":["203.0.113.1","203.0.113.2"],"service_ip_port":[80,81],"service_ipv6":["2001:db8::1"]}"#
        for length in 0..<body.utf8.count {
            #expect(nodes(String(body.prefix(length))) == .failure(.garbage("JSON not readable")), "cut at \(length)")
        }
        var random = SeededBytes(seed: 5)
        for _ in 0..<300 {
            let bytes = random.bytes(count: Int.random(in: 0...200, using: &random.generator))
            let heard = Result { () throws(DialectError) in
                try listing.nodes(in: HTTPReply(body: bytes), allowsPrivate: false)
            }
            guard case .failure(.garbage) = heard else {
                Issue.record("seed 5: \(bytes)")
                return
            }
        }
    }
}
