// The raw exchanges of Volcengine, Baidu, AliDNS and RFC 8484: V1, B1, P1 and D1 of providers.md 9.1.

import DNSWire
import HTTPDNS

extension RawExchange {
    static let others = [
        RawExchange(
            name: "V1, Volcengine",
            dialect: Volcengine(url: "/resolve", account: "1023", secret: "QlgAuFMwNUwN"),
            questions: questions("www.a.com", .a),
            client: at(1_566_808_087_000, subnet: "1.2.3.4"), server: at(1_566_808_087_000),
            zone: "www.a.com. 52 A 192.0.2.10",
            target: "/resolve?domain=www.a.com&ip=1.2.3.4&type=1&account_id=1023&timestamp=1566808387000"
                + "&sign=85c31b4998f9fd3d6eadc43804178869",
            contentType: "application/json",
            body: .json(#"{"host":"www.a.com","ips":["192.0.2.10"],"ttl":52}"#),
            answers: ["www.a.com 52 192.0.2.10"]),
        RawExchange(
            name: "B1, Baidu",
            dialect: Baidu(url: "/v4/resolve", account: "100", secret: "1234567890"),
            questions: questions("www.baidu.com", .a, .aaaa),
            client: at(1_513_602_434_000), server: at(1_513_602_700_000),
            zone: "www.baidu.com. 60 A 192.0.2.10",
            target: "/v4/resolve?account_id=100&dn=www.baidu.com&t=1513602734"
                + "&sign=9d4eac35c33b8fa1610476ff1532643d&type=dual_stack",
            vendorsTarget: "/v4/resolve?account_id=100&dn=www.baidu.com&t=1513602734"
                + "&sign=9d4eac35c33b8fa1610476ff1532643d",
            contentType: "application/json",
            body: .json(
                #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.10"],"ttl":60},"#
                    + #""ipv6":{"ip":[],"ttl":60}}},"timestamp":1513602700}"#),
            answers: ["www.baidu.com 60 192.0.2.10", "www.baidu.com 60"]),
        RawExchange(
            name: "D1, RFC 8484",
            dialect: DoHDialect(url: "/dns-query"), questions: questions("www.example.com", .a),
            client: at(1_755_525_250_000), server: at(1_755_525_250_000),
            zone: "www.example.com. 128 A 192.0.2.10",
            // The daemon's query has an OPT record.
            target: "/dns-query?dns=AAABAAABAAAAAAABA3d3dwdleGFtcGxlA2NvbQAAAQABAAApBNAAAAAAAAA",
            vendorsTarget: "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB",
            headers: ["Accept": "application/dns-message"], contentType: "application/dns-message", body: .any,
            answers: ["www.example.com 128 192.0.2.10"]),
        RawExchange(
            name: "D1, RFC 8484 for AAAA",
            dialect: DoHDialect(url: "/dns-query"), questions: questions("www.example.com", .aaaa),
            client: at(1_755_525_250_000), server: at(1_755_525_250_000),
            zone: "www.example.com. 128 AAAA 2001:db8::10",
            target: "/dns-query?dns=AAABAAABAAAAAAABA3d3dwdleGFtcGxlA2NvbQAAHAABAAApBNAAAAAAAAA",
            vendorsTarget: "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAHAAB",
            headers: ["Accept": "application/dns-message"], contentType: "application/dns-message", body: .any,
            answers: ["www.example.com 128 2001:db8::10"]),
    ]
}
