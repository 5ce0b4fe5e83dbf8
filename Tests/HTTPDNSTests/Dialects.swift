// The list of all dialects, for tests of their common rules.

import DNSWire
import HTTPDNS

enum Dialects {
    struct Entry: Sendable {
        let name: String
        /// Makes the dialect with the lab's account.
        let make: @Sendable (_ url: String) -> any Dialect
        /// The path of the dialect in the lab.
        let path: String
        /// Whether a reply can carry only bare addresses with one TTL, so that an empty reply proves nothing.
        var carriesAddressesOnly = true
        /// Whether a reply of bare addresses states the reason if it is empty.
        var provesEmptiness = false
        /// Whether each family has its own TTL in a reply for both.
        var keepsFamiliesApart = true
        /// Whether the dialect has no parameter for the family.
        var alwaysAsksBoth = false
        /// The statuses with a more exact meaning than "failed".
        var meanings: [Int: DialectError] = [:]
        /// The client's error for REFUSED; nil: an empty answer.
        var refusal: DialectError?
    }

    private static let entries = [
        Entry(name: "dnspod", make: { DNSPod(url: $0) }, path: "/d"),
        Entry(
            name: "dnspod-https", make: { DNSPodHTTPS(url: $0, account: "1234", token: "567890") }, path: "/d",
            meanings: [401: .account("401")]),
        Entry(
            name: "dnspod-https-expiring",
            make: { DNSPodHTTPS(url: $0, account: "1234", token: "567890", expires: true) }, path: "/d",
            meanings: [401: .clock]),
        Entry(
            name: "dnspod-des",
            make: { DNSPodEncrypted(url: $0, account: "1234", key: "dnspodpass", cipher: .des) }, path: "/d",
            meanings: [401: .account("401")]),
        Entry(
            name: "dnspod-aes",
            make: { DNSPodEncrypted(url: $0, account: "1234", key: "0123456789abcdef", cipher: .aes, expires: true) },
            path: "/d", meanings: [401: .clock]),
        Entry(name: "alicloud", make: { AliCloud(url: $0, account: "100000", secret: nil) }, path: ""),
        Entry(name: "alicloud-signed", make: { AliCloud(url: $0, account: "100000", secret: "IAmASecret") }, path: ""),
        Entry(name: "alicloud-v2", make: { aliCloudV2($0, .none) }, path: "", provesEmptiness: true),
        Entry(name: "alicloud-v2-cbc", make: { aliCloudV2($0, .cbc(aesKey)) }, path: "", provesEmptiness: true),
        Entry(name: "alicloud-v2-gcm", make: { aliCloudV2($0, .gcm(aesKey)) }, path: "", provesEmptiness: true),
        Entry(
            name: "volcengine", make: { Volcengine(url: $0, account: "1023", secret: "QlgAuFMwNUwN") },
            path: "/resolve", keepsFamiliesApart: false, meanings: [403: .forbidden]),
        Entry(
            name: "baidu", make: { Baidu(url: $0, account: "100", secret: "1234567890") }, path: "/v4/resolve"),
        Entry(
            name: "baidu-v3",
            make: {
                Baidu(url: $0.hasSuffix("/v3/resolve") ? $0 : $0 + "/v3/resolve", account: "100", secret: "1234567890")
            },
            path: "/v3/resolve"),
        Entry(
            name: "ucloud", make: { UCloud(url: $0, account: "100000", secret: "AuthSecret") }, path: "",
            meanings: [401: .clock], refusal: .notServed),
        Entry(
            name: "json-account", make: { JSONDialect(url: $0, account: aliDNS) }, path: "/resolve",
            carriesAddressesOnly: false, meanings: [401: .clock], refusal: .serverFailure(.refused)),
        Entry(
            name: "template-volcengine", make: { Recipes.volcengine(url: $0) }, path: "/resolve",
            keepsFamiliesApart: false, alwaysAsksBoth: true, meanings: [401: .clock, 403: .clock]),
        Entry(
            name: "template-baidu", make: { Recipes.baidu(url: $0) }, path: "/v4/resolve", alwaysAsksBoth: true,
            meanings: [401: .clock, 403: .clock]),
        Entry(
            name: "template-ucloud", make: { Recipes.ucloud(url: $0) }, path: "/100000/resolve",
            meanings: [401: .clock, 403: .clock]),
        Entry(
            name: "json", make: { JSONDialect(url: $0) }, path: "/resolve", carriesAddressesOnly: false,
            refusal: .serverFailure(.refused)),
        Entry(
            name: "doh", make: { DoHDialect(url: $0) }, path: "/dns-query", carriesAddressesOnly: false,
            refusal: .serverFailure(.refused)),
        Entry(
            name: "doh-post", make: { DoHDialect(url: $0, method: .post) }, path: "/dns-query",
            carriesAddressesOnly: false, refusal: .serverFailure(.refused)),
    ]

    private static let aliDNS = AliDNSAccount(uid: "9999", accessKeyID: "testAK", accessKeySecret: "testSecret")
    private static let aesKey = "000102030405060708090a0b0c0d0e0f"

    private static func aliCloudV2(_ url: String, _ cipher: AliCloudEncryption) -> any Dialect {
        let secret = "a0b1c2d3e4f5061728394a5b6c7d8e9f"
        guard let dialect = try? AliCloudV2(url: url, account: "100000", secret: secret, cipher: cipher) else {
            preconditionFailure("the keys have their digits")
        }
        return dialect
    }

    static let names: [String] = entries.map(\.name)

    /// The entry with this name; nil if there is none.
    static func entry(named name: String) -> Entry? { entries.first { $0.name == name } }

    static func make(named name: String, url: String) -> (any Dialect)? { entry(named: name)?.make(url) }
}
