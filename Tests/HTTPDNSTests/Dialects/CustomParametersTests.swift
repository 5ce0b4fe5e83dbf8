// Parameters of custom resolution in requests: their places by each vendor's documents (providers.md 2.2, 2.3, 3 and
// 7.2), and the signed ones. The signatures of version 2 of Alibaba's service were computed in Python.

import DNSWire
import HTTPDNS
import Settings
import Testing

@Suite("Parameters of custom resolution")
struct CustomParametersTests {
    private static let all = parameters(
        query: ["sdns-city": "a=b", "sdns-level": "vip"], tags: ["ios", "beta-2"], appID: "com.demo")
    private static let secret = "a0b1c2d3e4f5061728394a5b6c7d8e9f"

    private static func parameters(
        query: [String: String] = [:], tags: [String], appID: String? = nil
    ) -> Settings.RequestParameters {
        var parameters = Settings.RequestParameters()
        (parameters.query, parameters.tags, parameters.appID) = (query, tags, appID)
        return parameters
    }

    private func context(
        _ parameters: Settings.RequestParameters = all, unixSeconds: Int64 = 1_755_525_250,
        nonce: [UInt8] = Array(0x20...0x2F)
    ) -> DialectContext {
        DialectContext(unixMilliseconds: unixSeconds * 1000, nonce: nonce, parameters: parameters)
    }

    private func aliyun() throws -> [Question] {
        [try question("www.aliyun.com"), try question("www.aliyun.com", .aaaa)]
    }

    @Test("version 1 of Alibaba's service does not sign them")
    func alibaba() throws {
        let dialect = AliCloud(url: "", account: "100000", secret: "IAmASecret")
        let request = try dialect.request(for: aliyun(), in: context(unixSeconds: 1_534_315_800))
        #expect(
            request.url == "/100000/sign_d?host=www.aliyun.com&query=4,6&sdns-city=a%3Db&sdns-level=vip&t=1534316400"
                + "&s=60c71e98b6d7fcbb366243e224eab457")
        #expect(try dialect.questions(from: request, in: context(unixSeconds: 1_534_315_800)) == aliyun())
    }

    @Test("version 2 signs them as they are, and sends them escaped")
    func alibaba2() throws {
        let dialect = try AliCloudV2(url: "", account: "100000", secret: Self.secret, cipher: .none)
        let request = try dialect.request(for: aliyun(), in: context())
        #expect(
            request.url == "/v2/d?id=100000&m=0&dn=www.aliyun.com&q=4%2C6&sdns-city=a%3Db&sdns-level=vip"
                + "&tags=ios%2Cbeta-2&exp=1755525850&v=1.0"
                + "&s=53b47f530d045666ded76779e721c6261f3f0da62b1dfc1501a4538b00e92b13")
        #expect(try dialect.questions(from: request, in: context()) == aliyun())
    }

    @Test("version 2 encrypts them with the question")
    func alibabaEncrypted() throws {
        let key = "000102030405060708090a0b0c0d0e0f"
        let dialect = try AliCloudV2(url: "", account: "100000", secret: Self.secret, cipher: .gcm(key))
        let few = Self.parameters(query: ["sdns-level": "vip"], tags: ["beta"])
        let request = try dialect.request(for: aliyun(), in: context(few))
        #expect(
            request.url == "/v2/d?id=100000&m=2&enc=202122232425262728292a2bbbd776caa4ca5b7ecc3fa1b51da6ed0ba69f16f1eb"
                + "7406c61641fd35936fdb7964a641e4cf57f469902ac5f1b5498c70b24078c7ad8cfbfc3378fc8881aa25f407fb0c8deb2b5e"
                + "579c2f86fd1c42bcf61d25&exp=1755525850&v=1.0"
                + "&s=3404fb6db0219249d00c07cf2f0adcfa075e24f39ffb9030da971cb9874156c9")
        #expect(try dialect.questions(from: request, in: context(few)) == aliyun())
    }

    @Test("Volcengine signs neither the app id nor the tag in the header")
    func volcengine() throws {
        let dialect = Volcengine(url: "/resolve", account: "1023", secret: "QlgAuFMwNUwN")
        let asked = [try question("www.a.com")]
        let plain = try dialect.request(for: asked, in: context(Settings.RequestParameters()))
        let one = Self.parameters(tags: ["beta"], appID: "com.demo")
        let request = try dialect.request(for: asked, in: context(one))
        #expect(request.url == plain.url + "&appid=com.demo")
        #expect(request.headers["Am-Tag"] == "beta" && plain.headers["Am-Tag"] == nil)
        #expect(try dialect.questions(from: request, in: context(one)) == asked)
    }

    @Test("UCloud signs the app id at its place in the order of names")
    func ucloud() throws {
        let dialect = UCloud(url: "", account: "100000", secret: "AuthSecret")
        let context = context(unixSeconds: 1_655_193_600)
        let request = try dialect.request(for: [question("api.ucloud.cn")], in: context)
        #expect(request.url == "/100000/resolve?host=api.ucloud.cn&timestamp=1655193600&app_id=com.demo")
        #expect(request.headers["Authorization"] == "9c52d62c87f9a72df68e4df96291d514")
        #expect(try dialect.questions(from: request, in: context) == [question("api.ucloud.cn")])
    }
}
