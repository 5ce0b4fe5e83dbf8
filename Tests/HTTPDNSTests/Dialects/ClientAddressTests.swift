// The client's address in replies, in the form of each vendor's document.

import DNSWire
import HTTPDNS
import Testing

struct ClientAddressTests {
    @Test(
        "a reply says from which address its request came",
        arguments: [
            ("alicloud", #"{"host":"a.example","ips":["192.0.2.1"],"ttl":57,"client_ip":"42.120.74.99"}"#),
            (
                "alicloud",
                #"{"dns":[{"host":"a","ips":[],"type":1},{"host":"b","client_ip":"42.120.74.99","ips":[],"type":1}]}"#
            ),
            ("alicloud-v2", #"{"code":"success","mode":0,"data":{"cip":"42.120.74.99","answers":[]}}"#),
            ("volcengine", #"{"cip":"42.120.74.99","host":"a.example","ips":[],"ttl":52}"#),
            ("baidu", #"{"clientip":"42.120.74.99","data":{},"msg":"ok","timestamp":1513602734}"#),
            ("baidu-v3", #"{"clientip":"42.120.74.99","data":{},"msg":"ok"}"#),
            ("ucloud", #"{"host":"a.example","client_ip":"42.120.74.99","ip_list":[],"ttl":600}"#),
            ("dnspod-https", "a.example.:192.0.2.1,120|42.120.74.99"),
            ("dnspod-https", "a.example.:192.0.2.1,120\nb.example.:0|42.120.74.99\n"),
            ("dnspod-https", "a.example.:2001:db8::1,90|42.120.74.99"),
        ])
    func address(dialect: String, body: String) throws {
        let dialect = try #require(Dialects.make(named: dialect, url: "/d"))
        #expect(dialect.clientAddress(in: reply(body)) == Address("42.120.74.99"))
        #expect(dialect.clientAddress(in: reply(body, status: 500)) == nil)
    }

    @Test("a resolver with a JSON interface names the client's network", arguments: ["json", "json-account"])
    func network(dialect: String) throws {
        let dialect = try #require(Dialects.make(named: dialect, url: "/d"))
        let body = #"{"Status":0,"edns_client_subnet":"203.0.113.0/24"}"#
        #expect(dialect.clientAddress(in: reply(body)) == Address("203.0.113.0"))
        #expect(dialect.clientAddress(in: reply(#"{"Status":0}"#)) == nil)
    }

    @Test(
        "an encrypted reply has it, too",
        arguments: ["dnspod-des", "dnspod-aes", "alicloud-v2-cbc", "alicloud-v2-gcm"])
    func encrypted(dialect: String) throws {
        let dialect = try #require(Dialects.make(named: dialect, url: "/d"))
        let answer = Answer(records: [try record("a.example", .a, 60, "192.0.2.1")])
        let sent = dialect.reply(
            to: [try question("a.example")], with: [.answer(answer)], in: try .test(nonce: Array(0x20...0x2F)))
        #expect(dialect.clientAddress(in: sent) == Address("203.0.113.7"))
    }

    @Test("bodies that state none, or no address, say nothing", arguments: Dialects.names)
    func nothing(name: String) throws {
        let dialect = try #require(Dialects.make(named: name, url: "/d"))
        let bodies = [
            "", "{}", "[]", "0", "|", "a.example.:192.0.2.1,120|x", #"{"client_ip":"x","cip":7,"clientip":null}"#,
            #"{"dns":{"client_ip":"192.0.2.1"}}"#, #"{"edns_client_subnet":"/24"}"#, "{\"client_ip\":\"192.0.2.1",
        ]
        for body in bodies { #expect(dialect.clientAddress(in: reply(body)) == nil, "\(body)") }
    }
}
