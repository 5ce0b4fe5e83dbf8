// UCloud's dialect: its signature (providers.md 7.2), its error codes, and the server's refusals.

import DNSWire
import Testing

@testable import HTTPDNS

struct UCloudTests {
    private let dialect = UCloud(url: "http://100.10.10.10", account: "100000", secret: "AuthSecret")
    private let asked: Question
    private static let time = DialectContext(unixMilliseconds: 1_655_193_600_000, nonce: Array(0x10...0x1F))

    init() throws {
        asked = try question("api.ucloud.cn")
    }

    @Test("the vendor's signatures: values in the order of their names")
    func signatures() throws {
        #expect(
            try dialect.signature([("b", "b1"), ("c", "c1"), ("a", "a1")]) == "a792966c2386ba1b2a60520b19212249")
        let parameters = [("app_id", "com.demo"), ("host", "api.ucloud.cn"), ("timestamp", "1655193600")]
        #expect(try dialect.signature(parameters) == "9c52d62c87f9a72df68e4df96291d514")
    }

    @Test("the account is in the path, the signature in a header", arguments: ["", "/"])
    func request(end: String) throws {
        let dialect = UCloud(url: "http://100.10.10.10\(end)", account: "100000", secret: "AuthSecret")
        let request = try dialect.request(for: [asked], in: UCloudTests.time)
        #expect(request.url == "http://100.10.10.10/100000/resolve?host=api.ucloud.cn&timestamp=1655193600")
        #expect(request.headers["authorization"] == "47a9e06314715e7842c45c06cb47089f")
        #expect(!dialect.supports(.aaaa))
    }

    @Test("addresses with their TTL")
    func answer() throws {
        let body = #"{"host":"api.ucloud.cn","client_ip":"203.0.113.7","ip_list":["192.0.2.10"],"ttl":600}"#
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.addresses.map(\.description) == ["192.0.2.10"] && answer.ttlSeconds == 600)
        let other = body.replacing("api.", with: "other.")
        #expect(outcome(of: reply(other), to: asked, by: dialect).error == .wrongQuestion)
    }

    @Test("'record cannot be found' is emptiness that another upstream has to confirm; a name of another is not served")
    func notFound() throws {
        let body = #"{"status":404,"code":"FAIL_TO_RESOLVE","message":"record cannot be found"}"#
        #expect(try dialect.answer(from: reply(body, status: 404), to: asked).kind == .ambiguousEmpty)
        let forbidden = reply(#"{"code":"HOST_FORBIDDEN","message":"x"}"#, status: 403)
        #expect(outcome(of: forbidden, to: asked, by: dialect).error == .notServed)
        let withStatus200 = outcome(of: reply(body), to: asked, by: dialect)
        #expect(withStatus200.isGarbage)
    }

    @Test(
        "the other codes are failures by their meaning",
        arguments: [
            (
                404, #"{"code":"FAIL_TO_RESOLVE","message":"fail to resolve the host"}"#,
                DialectError.serverFailure(.serverFailure)
            ),
            (401, #"{"code":"UNAUTHORIZED","message":"request is unauthorized"}"#, .clock),
            (404, "<html>", .status(404)), (404, #"{"code":"OTHER"}"#, .status(404)), (403, "", .status(403)),
            (500, #"{"code":"FAIL_TO_RESOLVE","message":"record cannot be found"}"#, .status(500)),
        ])
    func codes(status: Int, body: String, error: DialectError) {
        #expect(outcome(of: reply(body, status: status), to: asked, by: dialect).error == error)
    }

    @Test(
        "what proves nothing is a failure and never emptiness",
        arguments: [
            "", "{}", #"{"ip_list":["192.0.2.1"]}"#, #"{"host":"api.ucloud.cn"}"#,
            #"{"host":"api.ucloud.cn","ip_list":["x"]}"#, #"{"host":"api.ucloud.cn","ip_list":["2001:db8::1"]}"#,
        ])
    func garbage(body: String) {
        #expect(outcome(of: reply(body), to: asked, by: dialect).isGarbage)
    }

    @Test("the server takes what was signed within a minute, for the account in the path")
    func server() throws {
        let request = try dialect.request(for: [asked], in: UCloudTests.time)
        #expect(try dialect.questions(from: request, in: UCloudTests.time) == [asked])
        for seconds in [-61, 61] as [Int64] {
            let time = DialectContext(
                unixMilliseconds: 1_655_193_600_000 + seconds * 1000, nonce: Array(0x10...0x1F))
            #expect(throws: DialectError.clock) { try dialect.questions(from: request, in: time) }
        }
        for (old, new) in [("100000", "100001"), ("api.", "apj."), ("1655193600", "1655193601")] {
            let changed = HTTPRequest(url: request.url.replacing(old, with: new), headers: request.headers)
            #expect(throws: DialectError.self) { try dialect.questions(from: changed, in: UCloudTests.time) }
        }
        #expect(throws: DialectError.account("Authorization")) {
            try dialect.questions(from: HTTPRequest(url: request.url), in: UCloudTests.time)
        }
        let refusal = dialect.reply(to: .clock)
        #expect(refusal.status == 401)
        #expect(
            String(decoding: refusal.body, as: UTF8.self)
                == #"{"code":"UNAUTHORIZED","message":"request is unauthorized","status":401}"#)
    }
}
