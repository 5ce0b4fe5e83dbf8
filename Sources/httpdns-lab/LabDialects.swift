// Which dialect is spoken at which path, and the accounts that the lab knows: invented ones, in every lab the same.

import DNSWire
import HTTPDNS

enum LabDialects {
    /// Vendors that share a path are told apart by a parameter that only one of them has.
    static func dialect(at path: Substring, _ request: HTTPRequest) -> (any Dialect)? {
        switch path {
        case "/d": tencent(request)
        case "/resolve" where URLQuery.value(of: "account_id", in: request.url) != nil:
            Volcengine(url: "", account: "1023", secret: "QlgAuFMwNUwN")
        case "/resolve" where URLQuery.value(of: "uid", in: request.url) != nil: aliDNS
        case "/resolve": JSONDialect(url: "")
        case "/v3/resolve", "/v4/resolve": Baidu(url: String(path), account: "100", secret: "1234567890")
        case _ where path.hasSuffix("/resolve") && request.headers["Authorization"] != nil:
            UCloud(url: "", account: "100000", secret: "AuthSecret")
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

    private static var aliDNS: JSONDialect {
        JSONDialect(
            url: "", account: AliDNSAccount(uid: "9999", accessKeyID: "testAK", accessKeySecret: "testSecret"))
    }
}
