// Alibaba's raw exchanges: A1 to A3 and, of AliDNS, P1 of providers.md 9.1.

import DNSWire
import HTTPDNS

extension RawExchange {
    private static let at600SecondsBefore = at(1_755_525_250_000, nonce: Array(0x20...0x2F))
    /// The lab's context, with the client's address that the vendor's replies contain.
    private static let server = at(1_755_525_250_000, nonce: Array(0x20...0x2F), subnet: "42.120.74.99")
    private static let aliyun = questions("www.aliyun.com", .a, .aaaa)

    static let alibaba =
        [
            RawExchange(
                name: "A1, version 1 with a signature",
                dialect: AliCloud(url: "", account: "100000", secret: "IAmASecret"),
                questions: questions("www.aliyun.com", .a), client: at600SecondsBefore, server: server,
                zone: "www.aliyun.com. 57 A 192.0.2.10",
                target: "/100000/sign_d?host=www.aliyun.com&query=4&t=1755525850&s=e08d0e437db0573140c82b80ebc38496",
                contentType: "application/json",
                // The lab has only the remaining TTL; the vendor's example has an origin_ttl of 120.
                body: .bytes(
                    #"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ttl":57,"origin_ttl":57,"#
                        + #""client_ip":"42.120.74.99"}"#),
                answers: ["www.aliyun.com 57 192.0.2.10"]),
            RawExchange(
                name: "P1, AliDNS with an account",
                dialect: JSONDialect(
                    url: "/resolve",
                    account: AliDNSAccount(uid: "9999", accessKeyID: "testAK", accessKeySecret: "testSecret")),
                questions: questions("www.taobao.com", .a), client: at(1_614_927_253_000),
                server: at(1_614_927_253_000), zone: "www.taobao.com. 60 A 192.0.2.10",
                target: "/resolve?name=www.taobao.com&type=1&uid=9999&ak=testAK&ts=1614927253"
                    + "&key=ea3c33e569c7805491369b9874400a4d6cd001931f31838f3653c5b107a0d2b8",
                contentType: "application/dns-json", body: .any, answers: ["www.taobao.com 60 192.0.2.10"]),
        ]
        + version2(
            "A2, version 2 in the clear", cipher: .none, zone: "www.aliyun.com. 60 A 192.0.2.10",
            target: "/v2/d?id=100000&m=0&dn=www.aliyun.com&q=4%2C6&exp=1755525850&v=1.0"
                + "&s=5218d2696100e40508a7e63b67efd134db396c0c298ea92473ec00b08a128096",
            body: #"{"code":"success","mode":0,"data":{"cip":"42.120.74.99","answers":[{"dn":"www.aliyun.com","#
                + #""v4":{"ips":["192.0.2.10"],"ttl":60},"#
                + #""v6":{"ips":[],"ttl":300,"no_ip_code":"RRNotExist"}}]}}"#,
            addresses: "192.0.2.10")
        + version2(
            "A3, version 2 with AES-GCM", cipher: .gcm("000102030405060708090a0b0c0d0e0f"),
            zone: "www.aliyun.com. 60 A 192.0.2.10\nwww.aliyun.com. 60 A 192.0.2.11",
            target: "/v2/d?id=100000&m=2&enc=202122232425262728292a2bbbd776caa4ca5b7ecc3fa1b51da6ed0ba69f16f1eb7406c6"
                + "1641fd35936fdb793533396057573455a1be952f66c9412628&exp=1755525850&v=1.0"
                + "&s=16fc6c6714eca36487bba0bd2cf902f1c268f9060e6912944c7f68bd52a3144b",
            body: #"{"code":"success","mode":2,"data":""#
                + "ICEiIyQlJicoKSoru9dxzfbSQyuPeqHlQ/+6SfyfTKekegiFCRCwctUwz2ET/xDkzwbjJ4Ir17P2H8d/rl50iOCVuLdiLPKI2bRz"
                + "/FX1/FZAWq3D6LB8MwNxSVo3VbIVS0nPqEFzOP0XzGzhHnL/4myuAvwojwWwa0xywVGtSkbbpZqUjUP3o7Nbct3rfGZhgUzRYhaf"
                + #"7uEWRhOmNcCXcXdmNlNAPQL+8QzVt+hjKQHEk0z/wee/crn1+dU="}"#,
            addresses: "192.0.2.10 192.0.2.11")

    /// The exchange; if the dialect refuses the keys, an empty list, for which a test fails.
    private static func version2(
        _ name: String, cipher: AliCloudEncryption, zone: String, target: String, body: String, addresses: String
    ) -> [RawExchange] {
        let secret = "a0b1c2d3e4f5061728394a5b6c7d8e9f"
        guard let dialect = try? AliCloudV2(url: "", account: "100000", secret: secret, cipher: cipher) else {
            return []
        }
        return [
            RawExchange(
                name: name, dialect: dialect, questions: aliyun, client: at600SecondsBefore, server: server, zone: zone,
                negativeTTLSeconds: 300, target: target,
                // The vendor's example has a session ID, which is not signed and which the daemon does not send.
                vendorsTarget: target + "&sid=AbCdEf012345", contentType: "application/json", body: .bytes(body),
                answers: ["www.aliyun.com 60 \(addresses)", "www.aliyun.com 300"])
        ]
    }
}
