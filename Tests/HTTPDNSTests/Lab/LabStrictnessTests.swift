// The lab's refusals, which follow the vendors': wrong keys, accounts and times, and too many names. A client's mistake
// must show, with the vendor's own status and text.

import DNSWire
import HTTPDNS
import Testing
import httpdns_lab

struct LabStrictnessTests {
    private let lab: Lab
    private let asked: Question

    init() throws {
        lab = Lab(try ZoneParser.zone(from: ZoneTests.text, file: "test.zone"))
        asked = try question("www.example")
    }

    private func heard(_ dialect: any Dialect, in context: DialectContext = .test) throws -> DialectError? {
        let (reply, _) = lab.respond(to: try dialect.request(for: [asked], in: context))
        return outcome(of: reply, to: asked, by: dialect).error
    }

    @Test("Tencent's keys, ids and tokens")
    func tencent() throws {
        let des = { (id: String, key: String) in DNSPodEncrypted(url: "/d", account: id, key: key, cipher: .des) }
        #expect(try heard(des("1234", "dnspodpass")) == nil)
        #expect(try heard(des("1235", "dnspodpass")) == .account("401"))
        #expect(try heard(des("1234", "otherpass")) == .status(400))
        let aes = DNSPodEncrypted(url: "/d", account: "1234", key: "0123456789abcdee", cipher: .aes)
        #expect(try heard(aes) == .status(400))
        #expect(try heard(DNSPodHTTPS(url: "/d", account: "1234", token: "567891")) == .account("401"))
    }

    @Test("names that have expired, by a clock that is wrong", arguments: [-601, 61] as [Int64])
    func expiry(seconds: Int64) throws {
        let wrong = DialectContext(unixMilliseconds: 1_755_525_250_000 + seconds * 1000, nonce: Array(0x10...0x1F))
        let dialect = DNSPodHTTPS(url: "/d", account: "1234", token: "567890", expires: true)
        #expect(try heard(dialect) == nil)
        #expect(try heard(dialect, in: wrong) == .clock)
    }

    @Test("Volcengine's accounts, secrets and times, all with 403")
    func volcengine() throws {
        let dialect = Volcengine(url: "/resolve", account: "1023", secret: "QlgAuFMwNUwN")
        #expect(try heard(dialect) == nil)
        #expect(try heard(Volcengine(url: "/resolve", account: "1024", secret: "QlgAuFMwNUwN")) == .forbidden)
        #expect(try heard(Volcengine(url: "/resolve", account: "1023", secret: "other")) == .forbidden)
        let late = DialectContext(unixMilliseconds: 1_755_524_950_000, nonce: Array(0x10...0x1F))
        #expect(try heard(dialect, in: late) == .forbidden)
        let url = try dialect.request(for: asked).url
        #expect(lab.respond(to: HTTPRequest(method: .post, url: url)).reply.status == 405)
    }

    @Test("Baidu's accounts, secrets, times and number of names, in words", arguments: ["/v3/resolve", "/v4/resolve"])
    func baidu(path: String) throws {
        let dialect = Baidu(url: path, account: "100", secret: "1234567890")
        #expect(try heard(dialect) == nil)
        #expect(try heard(Baidu(url: path, account: "101", secret: "1234567890")) == .account("account error"))
        #expect(try heard(Baidu(url: path, account: "100", secret: "other")) == .account("sign error"))
        let late = DialectContext(unixMilliseconds: 1_755_524_950_000, nonce: Array(0x10...0x1F))
        #expect(try heard(dialect, in: late) == .clock)
        #expect(lab.respond(to: HTTPRequest(url: "\(path)?account_id=100")).reply.status == 200)
    }

    @Test("UCloud's accounts, secrets and times, all with 401")
    func ucloud() throws {
        let dialect = UCloud(url: "/p/alpha", account: "100000", secret: "AuthSecret")
        #expect(try heard(dialect) == nil)
        #expect(try heard(UCloud(url: "", account: "100001", secret: "AuthSecret")) == .clock)
        #expect(try heard(UCloud(url: "", account: "100000", secret: "other")) == .clock)
        let late = DialectContext(unixMilliseconds: 1_755_525_189_000, nonce: Array(0x10...0x1F))
        #expect(try heard(dialect, in: late) == .clock)
        let unsigned = HTTPRequest(
            url: "/100000/resolve?host=www.example", headers: HTTPHeaders([.init("Authorization", "")]))
        #expect(lab.respond(to: unsigned).reply.status == 401)
    }
}
