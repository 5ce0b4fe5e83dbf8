// Maps paths to dialects, and holds the lab's accounts. The accounts are fictitious and fixed.

import DNSWire
import HTTPDNS

enum LabDialects {
    /// Vendors that share a path are distinguished by a parameter that only one of them has.
    static func dialect(at path: Substring, _ request: HTTPRequest) -> (any Dialect)? {
        switch path {
        case "/d": tencent(request)
        case "/resolve" where URLQuery.value(of: "account_id", in: request.url) != nil:
            Volcengine(url: "", account: "1023", secret: "QlgAuFMwNUwN")
        case "/v3/resolve", "/v4/resolve": Baidu(url: String(path), account: "100", secret: "1234567890")
        case _ where path.hasSuffix("/resolve") && request.headers["Authorization"] != nil:
            UCloud(url: "", account: "100000", secret: "AuthSecret")
        case AliCloudV2.path: aliCloudV2(request)
        // Tested after Baidu and UCloud, whose paths look like an account path.
        case _ where AliCloud.isPath(path):
            AliCloud(url: "", account: aliCloudAccount, secret: "IAmASecret", path: path)
        case "/resolve" where URLQuery.value(of: "uid", in: request.url) != nil: aliDNS
        case "/resolve": JSONDialect(url: "")
        case "/dns-query" where request.headers["Accept"]?.hasPrefix(JSONDialect.mediaType) == true:
            JSONDialect(url: "")
        case "/dns-query": DoHDialect(url: "")
        default: nil
        }
    }

    private static func tencent(_ request: HTTPRequest) -> any Dialect {
        let id = "1234"
        return switch (URLQuery.value(of: "alg", in: request.url), URLQuery.value(of: "token", in: request.url)) {
        case ("aes", _): DNSPodEncrypted(url: "", account: id, key: "0123456789abcdef", cipher: .aes)
        case (.some, _): DNSPodEncrypted(url: "", account: id, key: "dnspodpass", cipher: .des)
        case (nil, .some): DNSPodHTTPS(url: "", account: id, token: "567890")
        case (nil, nil): DNSPod(url: "")
        }
    }

    // MARK: Alibaba

    private static let aliCloudAccount = "100000"

    private static func aliCloudV2(_ request: HTTPRequest) -> (any Dialect)? {
        let key = "000102030405060708090a0b0c0d0e0f"
        let cipher: AliCloudV2.Encryption =
            switch URLQuery.value(of: "m", in: request.url) {
            case "1": .cbc(key)
            case "2": .gcm(key)
            default: .none
            }
        return try? AliCloudV2(
            url: "", account: aliCloudAccount, secret: "a0b1c2d3e4f5061728394a5b6c7d8e9f", cipher: cipher)
    }

    private static var aliDNS: JSONDialect {
        JSONDialect(
            url: "", account: AliDNSAccount(uid: "9999", accessKeyID: "testAK", accessKeySecret: "testSecret"))
    }

    /// Returns Alibaba's list of service nodes, which is not a DNS question. Its addresses are for documentation (RFC
    /// 5737, RFC 3849), because clients refuse loopback addresses, where the lab listens.
    static func nodeList(at path: Substring, _ request: HTTPRequest) -> HTTPReply? {
        guard path.hasSuffix("/ss") else { return nil }
        let addresses = ["192.0.2.53", "192.0.2.54", "2001:db8::53"].compactMap { Address($0) }
        let list = ServiceAddresses(nodes: addresses.map { ServiceAddresses.Node($0) })
        return AliCloudNodes.reply(with: list, to: request, account: aliCloudAccount)
    }
}
