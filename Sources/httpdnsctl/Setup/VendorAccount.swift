// The vendors' services that need an account: what `setup` asks for each, and where it is reached.

import DNSWire
import Settings

struct VendorAccount: Equatable, Sendable {
    /// Whether the dialect requires a key of the settings.
    enum Need: Sendable {
        case required, optional, unused
    }

    /// The service's name as `--account` takes it.
    let name: String
    let dialect: Settings.Provider.Dialect
    /// The company that sees the names.
    let company: String
    let product: String
    /// The URL as the vendor publishes it.
    let url: String
    /// The addresses of the service; empty if the URL has an address, or if the vendor publishes none.
    var addresses: [Address] = []
    var id = Need.required
    var accessKey = Need.unused
    var keyFile = Need.required

    /// The name of the account's provider, which differs from the names of the public providers.
    var providerName: String { dialect == .json ? "\(name)-account" : name }

    /// All services, in the order of the dialogue.
    static let all = [
        VendorAccount(
            name: "alidns", dialect: .json, company: "Alibaba", product: "AliDNS with an AccessKey",
            url: "https://dns.alidns.com/resolve", addresses: publicAddresses("alidns"), accessKey: .required),
        VendorAccount(
            name: "alicloud", dialect: .alicloud, company: "Alibaba", product: "EMAS HTTPDNS",
            url: "https://resolvers.httpdns.aliyuncs.com/", keyFile: .optional),
        VendorAccount(
            name: "alicloud-v2", dialect: .alicloudV2, company: "Alibaba", product: "EMAS HTTPDNS, version 2",
            url: "https://resolvers.httpdns.aliyuncs.com/"),
        VendorAccount(
            name: "dnspod-https", dialect: .dnspodHTTPS, company: "Tencent", product: "HTTPDNS over TLS",
            url: "https://119.29.29.99/d", id: .optional),
        VendorAccount(
            name: "dnspod-aes", dialect: .dnspodAES, company: "Tencent", product: "HTTPDNS with AES",
            url: "http://119.29.29.98/d"),
        VendorAccount(
            name: "dnspod-des", dialect: .dnspodDES, company: "Tencent", product: "HTTPDNS with DES",
            url: "http://119.29.29.98/d"),
        VendorAccount(
            name: "volcengine", dialect: .volcengine, company: "ByteDance", product: "HTTPDNS of Volcengine",
            url: "https://httpdns.volcengineapi.com/resolve"),
        VendorAccount(
            name: "baidu", dialect: .baidu, company: "Baidu", product: "HTTPDNS",
            url: "https://180.76.76.200/v4/resolve"),
        VendorAccount(
            name: "ucloud", dialect: .ucloud, company: "UCloud", product: "HTTPDNS, over http only",
            url: "http://httpdns.ucloud.cn/"),
    ]

    private static func publicAddresses(_ name: String) -> [Address] {
        Settings.Provider.builtIn.first { $0.name == name }?.addresses ?? []
    }
}

extension Settings.Provider {
    /// The company behind one of the public providers, which sees the names.
    var company: String {
        switch name {
        case "alidns": "Alibaba"
        case "dnspod": "Tencent"
        case "google": "Google"
        case "cloudflare": "Cloudflare"
        default: name
        }
    }
}
