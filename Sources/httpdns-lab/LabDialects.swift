// Which dialect is spoken at which path, and the accounts that the lab knows: invented ones, in every lab the same.

import DNSWire
import HTTPDNS

enum LabDialects {
    static func dialect(at path: Substring, _ request: HTTPRequest) -> (any Dialect)? {
        switch path {
        case "/d" where URLQuery.value(of: "token", in: request.url) != nil: DNSPodHTTPS(url: "", token: "")
        case "/d": DNSPod(url: "")
        case "/resolve": JSONDialect(url: "")
        case "/dns-query" where request.headers["Accept"]?.hasPrefix(JSONDialect.mediaType) == true:
            JSONDialect(url: "")
        case "/dns-query": DoHDialect(url: "")
        default: nil
        }
    }
}
