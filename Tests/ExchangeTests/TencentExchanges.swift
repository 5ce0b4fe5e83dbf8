// Tencent's raw exchanges: T0 to T3 of providers.md 9.1.

import DNSWire
import HTTPDNS

extension RawExchange {
    private static let now = at(1_755_525_250_000)

    static let tencent = [
        RawExchange(
            name: "T0, the free service",
            dialect: DNSPod(url: "/d"), questions: questions("www.qq.com", .a),
            client: at(1_755_525_250_000, subnet: "203.0.113.7"), server: now,
            zone: "www.qq.com. 120 A 192.0.2.10\nwww.qq.com. 120 A 192.0.2.11",
            target: "/d?dn=www.qq.com&ttl=1&ip=203.0.113.7", contentType: "text/plain",
            body: .bytes("192.0.2.10;192.0.2.11,120"), answers: ["www.qq.com 120 192.0.2.10 192.0.2.11"]),
        RawExchange(
            name: "T0, no record",
            dialect: DNSPod(url: "/d"), questions: questions("nothing.qq.com", .a), client: now, server: now,
            zone: "", target: "/d?dn=nothing.qq.com&ttl=1", contentType: "text/plain",
            body: .bytes(""), answers: ["nothing.qq.com 60"]),
        RawExchange(
            name: "T1, HTTPS with a token",
            dialect: DNSPodHTTPS(url: "/d", account: "1234", token: "567890"),
            questions: questions("www.dnspod.cn", .a, .aaaa), client: now, server: now, zone: dnspod,
            target: "/d?dn=www.dnspod.cn&clientip=1&ttl=1&query=1&id=1234&type=addrs&token=567890",
            contentType: "text/plain",
            body: .bytes("www.dnspod.cn.:192.0.2.10;192.0.2.11,120-2001:db8::10,90|203.0.113.7"),
            answers: ["www.dnspod.cn 120 192.0.2.10 192.0.2.11", "www.dnspod.cn 90 2001:db8::10"]),
        RawExchange(
            name: "T2, HTTP with AES",
            dialect: DNSPodEncrypted(url: "/d", account: "1234", key: "0123456789abcdef", cipher: .aes),
            questions: questions("www.dnspod.cn", .a, .aaaa), client: now,
            server: at(1_755_525_250_000, nonce: Array(0x20...0x2F)), zone: dnspod,
            target: "/d?dn=101112131415161718191a1b1c1d1e1fe3e56e582ad59947168b302b07b75b9c"
                + "&clientip=1&ttl=1&query=1&id=1234&type=addrs&alg=aes",
            contentType: "text/plain",
            body: .bytes(
                "202122232425262728292a2b2c2d2e2fbbe54424b614a7d1efe39a64049b5ff533184932a8fbbc331fe7eeeb669d907b"
                    + "e62d6fea477a70677956b4a742bc28d663340c124550c3fea377c5d626da9aa139e66730549cb7b748f9f57f4f53905b"
            ),
            answers: ["www.dnspod.cn 120 192.0.2.10 192.0.2.11", "www.dnspod.cn 90 2001:db8::10"]),
        RawExchange(
            name: "T3, HTTP with DES",
            dialect: DNSPodEncrypted(url: "/d", account: "1234", key: "dnspodpass", cipher: .des),
            questions: questions("www.dnspod.cn", .a), client: now, server: now, zone: dnspod,
            target: "/d?dn=87ae992c1321f299da3c0210a9900ae7&clientip=1&ttl=1&query=1&id=1234&alg=des",
            contentType: "text/plain",
            body: .bytes(
                "87ae992c1321f299fcc9158666cbcfb81bb96d1002a9b2b860125d6a79c8b6e1c7d24d2afade4b562e2f2b679a3a0ac8"
                    + "f1ae5b67f0fadbaa"),
            answers: ["www.dnspod.cn 120 192.0.2.10 192.0.2.11"]),
    ]

    private static let dnspod = """
        www.dnspod.cn. 120 A 192.0.2.10
        www.dnspod.cn. 120 A 192.0.2.11
        www.dnspod.cn. 90 AAAA 2001:db8::10
        """
}
