// AliDNS's JSON service with an account: exchange P1 of providers.md 9.1, and refusals.

import DNSWire
import HTTPDNS
import Testing

struct AliDNSAccountTests {
    private let dialect = JSONDialect(
        url: "http://223.5.5.5/resolve",
        account: AliDNSAccount(uid: "9999", accessKeyID: "testAK", accessKeySecret: "testSecret"))
    private let asked: Question
    private let context: DialectContext

    init() throws {
        asked = try question("www.taobao.com")
        context = try .test(unixSeconds: 1_614_927_253)
    }

    private static let signedURL =
        "http://223.5.5.5/resolve?name=www.taobao.com&type=1&uid=9999&ak=testAK&ts=1614927253"
        + "&key=ea3c33e569c7805491369b9874400a4d6cd001931f31838f3653c5b107a0d2b8"

    @Test("raw exchange P1: the key is a hash over account, time in seconds and name")
    func exchangeP1() throws {
        let request = try dialect.request(for: [asked], in: context)
        #expect(request.url == AliDNSAccountTests.signedURL)
        #expect(try dialect.questions(from: request, in: context) == [asked])
        let forClients = try DialectContext.test(clientSubnet: "1.2.3.0/24", unixSeconds: 1_614_927_253)
        #expect(
            try dialect.request(for: [asked], in: forClients).url
                == AliDNSAccountTests.signedURL + "&edns_client_subnet=1.2.3.0/24")
    }

    @Test("the name is signed as it is sent: in lower case, without a final dot")
    func nameAsSent() throws {
        let request = try dialect.request(for: [try question("WWW.Taobao.com.")], in: context)
        #expect(request.url == AliDNSAccountTests.signedURL)
    }

    @Test("401 may mean that our time is wrong, with an account; without one it is a status")
    func refused() throws {
        let refusal = reply("", status: 401)
        #expect(dialect.heard(refusal, [asked]) == ["clock"])
        #expect(JSONDialect(url: "").heard(refusal, [asked]) == ["status(401)"])
        #expect(dialect.heard(reply("", status: 403), [asked]) == ["status(403)"])
    }

    @Test(
        "the server refuses with 401 what is not signed as it should be",
        arguments: [
            ("uid=9999", "uid=9998"), ("ak=testAK", "ak=x"), ("ts=1614927253", "ts=1614927254"), ("key=e", "key=f"),
            ("name=www.taobao.com", "name=www.taobao.cn"), ("&uid=9999", ""), ("&ts=1614927253", ""),
            ("&ak=testAK", ""),
        ])
    func serverRefuses(from: String, to: String) throws {
        let request = HTTPRequest(url: AliDNSAccountTests.signedURL.replacing(from, with: to))
        let error = #expect(throws: DialectError.self) { try dialect.questions(from: request, in: context) }
        #expect(dialect.reply(to: try #require(error)).status == 401)
    }

    @Test(
        "the server takes clocks that are ten minutes apart", arguments: [(600, true), (601, false)] as [(Int64, Bool)])
    func skew(seconds: Int64, isTaken: Bool) throws {
        for now in [1_614_927_253 + seconds, 1_614_927_253 - seconds] {
            let context = try DialectContext.test(unixSeconds: now)
            let questions = try? dialect.questions(from: HTTPRequest(url: AliDNSAccountTests.signedURL), in: context)
            #expect((questions == [asked]) == isTaken)
        }
    }
}
