// Lists of service nodes of Tencent, Volcengine, Baidu and UCloud (providers.md 1.7, 3, 7.1, 7.2, and corrections C6
// and C7): requests, replies, and the entries that are left out of a bad list.

import DNSWire
import HTTPDNS
import Testing

struct VendorNodesTests {
    /// The time of the vectors, on 2025-08-18.
    private let context = DialectContext(unixMilliseconds: 1_755_525_250_000, nonce: Array(0x20...0x2F))
    private let tencent = DNSPodNodes(url: "/d", .token("567890"))
    private let volcengine = VolcengineNodes(
        Volcengine(url: "/resolve", account: "1023", secret: "QlgAuFMwNUwN"))
    private let ucloud = UCloudNodes(url: "/", account: "100000", secret: "AuthSecret", isSecure: false)

    private func text(_ listing: any NodeListing, _ body: String, status: Int = 200) -> String {
        do throws(DialectError) {
            let list = try listing.nodes(in: reply(body, status: status), allowsPrivate: false)
            return list.text + (list.lifetimeSeconds.map { " for \($0) s" } ?? "")
        } catch {
            if case .garbage = error { return "garbage" }
            return "\(error)"
        }
    }

    @Test("the requests stand beside those for questions, with the vendor's credentials")
    func requests() throws {
        #expect(tencent.request(in: context) == HTTPRequest(url: "/conf?token=567890"))
        let des = DNSPodEncrypted(url: "/x/d", account: "1234", key: "dnspodpass", cipher: .des)
        #expect(DNSPodNodes(url: "/x/d", .encrypted(des)).request(in: context).url == "/x/conf?id=1234&alg=des")
        // md5("0_1023_1755525550000_QlgAuFMwNUwN")
        let signed = "account_id=1023&svc_meta_ts=0&timestamp=1755525550000&sign=216d12a5578797e295ab004b19f2b2d1"
        #expect(try volcengine.request(in: context).url == "/svc_meta?\(signed)")
        // md5("1755525250-AuthSecret")
        let request = try ucloud.request(in: context)
        #expect(request.url == "/100000/service?timestamp=1755525250")
        #expect(request.headers["Authorization"] == "3e426a1d240f62a5a128e87d95e0a094")
        #expect(BaiduNodes().comesWithAnswers && !tencent.comesWithAnswers)
        let baidu = Baidu(url: "/v4/resolve", account: "100", secret: "1", wantsNodes: true)
        #expect(try baidu.request(for: question("www.example.com")).url.hasSuffix("&alt_server_ip=true"))
    }

    @Test(
        "Tencent's list, with the minutes of its life",
        arguments: [
            ("log:0|domain:0|ip:119.29.29.98;119.28.28.98|ttl:60", "119.29.29.98 119.28.28.98 for 3600 s"),
            ("ip:119.28.28.98|ttl:1440\r\n", "119.28.28.98 for 86400 s"),
            ("ip:119.28.28.98|ttl:0", "119.28.28.98 for 3600 s"),
            ("ip:119.28.28.98;|ttl:-1", "119.28.28.98 for 3600 s"), ("ip:119.28.28.98", "119.28.28.98 for 3600 s"),
            ("ip:10.0.0.1;x;119.28.28.98;119.28.28.98|ttl:1", "119.28.28.98 for 60 s"),
            ("log:1|domain:1|ttl:60", "garbage"), ("ip:|ttl:60", "garbage"), ("ip:127.0.0.1", "garbage"),
            ("", "garbage"),
            ("<html><body>ip:1</body></html>", "garbage"), ("|||", "garbage"), ("ip", "garbage"),
        ])
    func tencent(body: String, expected: String) {
        #expect(text(tencent, body) == expected)
    }

    @Test("Tencent's list over HTTP is encrypted like an answer")
    func encrypted() throws {
        let des = DNSPodEncrypted(url: "/d", account: "1234", key: "dnspodpass", cipher: .des)
        let listing = DNSPodNodes(url: "/d", .encrypted(des))
        let digits = "30081362eb88bb9e65def97c568c850b109067ded74c1ac4c33d5bca2661b33220fe574ba0cf88da9554d0c8afe445fb"
        for end in ["", "\r\n", "\u{0}", " \u{0}\n", "\u{0}\r\n"] {
            #expect(text(listing, digits + end) == "192.0.2.21 192.0.2.22 for 3600 s")
        }
        #expect(text(listing, "0\r\n") == "garbage")
        #expect(text(listing, "log:0|ip:119.28.28.98|ttl:60") == "garbage")
        #expect(text(listing, "", status: 401) == "account(\"401\")")
        #expect(text(listing, "") == "garbage")
    }

    @Test(
        "Volcengine's hosts are names or addresses, the main ones first",
        arguments: [
            (
                #"{"svc_meta":{"main_domains":["a.example"],"backup_domains":["203.0.113.1","b.example:81"]},"ts":7,"#
                    + #""update_interval_min":30}"#, "a.example 203.0.113.1 b.example:81 for 1800 s"
            ),
            (#"{"svc_meta":{"main_domains":["A.Example"]},"update_interval_min":0}"#, "a.example"),
            (#"{"svc_meta":{"main_domains":["203.0.113.1",7,null,"10.0.0.1","x","a.example/x"]}}"#, "203.0.113.1"),
            (#"{"svc_meta":{"main_domains":[],"backup_domains":[]}}"#, "garbage"), (#"{"svc_meta":[]}"#, "garbage"),
            (#"{"ts":7}"#, "garbage"), ("<html>", "garbage"), ("", "garbage"),
        ])
    func volcengine(body: String, expected: String) {
        #expect(text(volcengine, body) == expected)
    }

    @Test(
        "Baidu's addresses are in replies to questions",
        arguments: [
            (
                #"{"msg":"ok","data":{},"serverip":{"ipv4":["180.76.76.200"],"ipv6":["[240c:4006::6666]"]}}"#,
                "180.76.76.200 240c:4006::6666"
            ),
            (#"{"msg":"ok","data":{},"serverip":{"ipv4":["180.76.76.200"]}}"#, "180.76.76.200"),
            (#"{"msg":"ok","data":{},"serverip":{}}"#, "garbage"), (#"{"msg":"ok","data":{}}"#, "garbage"),
            (#"{"msg":"ok","serverip":{"ipv4":["192.168.1.1","x"]}}"#, "garbage"),
            (#"{"msg":"ok","serverip":{"ipv4":"180.76.76.200"}}"#, "garbage"), ("<html>", "garbage"),
        ])
    func baidu(body: String, expected: String) {
        #expect(text(BaiduNodes(), body) == expected)
    }

    @Test(
        "UCloud's nodes are URLs, the best one first",
        arguments: [
            (
                #"{"best_service_node":"http://203.0.113.2","#
                    + #""service_node_list":["http://203.0.113.1:8080","http://203.0.113.2"]}"#,
                "203.0.113.2:80 203.0.113.1:8080"
            ),
            (
                #"{"service_node_list":["http://node.example/","https://203.0.113.9","ftp://x","203.0.113.8"]}"#,
                "node.example:80"
            ),
            (#"{"best_service_node":"http://192.168.1.1","service_node_list":[]}"#, "garbage"),
            (#"{"best_service_node":7,"service_node_list":"http://203.0.113.1"}"#, "garbage"), ("[]", "garbage"),
        ])
    func ucloud(body: String, expected: String) {
        #expect(text(ucloud, body) == expected)
        #expect(text(ucloud, body, status: 503) == "status(503)")
    }

    @Test("a node's URL without a port means the port of its scheme, whatever the provider's URL has")
    func ports() {
        let secure = UCloudNodes(url: "/", account: "100000", secret: "AuthSecret", isSecure: true)
        #expect(text(secure, #"{"best_service_node":"https://203.0.113.2"}"#) == "203.0.113.2:443")
    }

    @Test("a reply that rejects the request's time says so, and any other error does not")
    func rejectedTimes() {
        #expect(text(volcengine, "", status: 403) == "forbidden" && text(ucloud, "", status: 401) == "clock")
        #expect(text(volcengine, "", status: 500) == "status(500)" && text(ucloud, "", status: 403) == "status(403)")
    }

    @Test("of a long list the first 16 are taken, and a huge one is refused")
    func bounds() {
        let many = (1...4000).map { "203.\($0 / 250).113.\($0 % 250 + 1)" }
        let taken = text(tencent, "ip:\(many.joined(separator: ";"))|ttl:60")
        #expect(taken == many.prefix(16).joined(separator: " ") + " for 3600 s")
        let list = "{\"serverip\":{\"ipv4\":[\(many.map { "\"\($0)\"" }.joined(separator: ","))]}}"
        #expect(text(BaiduNodes(), list) == "garbage")
    }

    @Test("random bytes never crash, and give no list")
    func malformed() {
        var random = SeededBytes(seed: 7)
        for _ in 0..<300 {
            let bytes = random.bytes(count: Int.random(in: 0...200, using: &random.generator))
            for listing in [tencent, volcengine, BaiduNodes(), ucloud] as [any NodeListing] {
                let heard = Result { () throws(DialectError) in
                    try listing.nodes(in: HTTPReply(body: bytes), allowsPrivate: true)
                }
                guard case .failure(.garbage) = heard else {
                    Issue.record("seed 7: \(bytes)")
                    return
                }
            }
        }
    }
}
