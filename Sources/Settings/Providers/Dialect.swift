// The dialects, with one row of facts for each. Settings, setup and daemon read the row instead of naming a dialect.

extension Settings.Provider {
    package enum Dialect: String, CaseIterable, Sendable {
        case dnspod
        case dnspodDES = "dnspod-des"
        case dnspodAES = "dnspod-aes"
        case dnspodHTTPS = "dnspod-https"
        case alicloud
        case alicloudV2 = "alicloud-v2"
        case volcengine, json, doh, baidu, ucloud, template
    }
}

extension Settings.Provider.Dialect {
    /// A row for each dialect. The rows with a service are in the order in which `httpdnsctl setup` offers them.
    package static let rows: KeyValuePairs<Self, Facts> = [
        .dnspod: Facts(takes: [.account, .clientSubnet]),
        .json: Facts(
            takes: [.account, .accessKey, .keyFile, .clientSubnet], takesWholeAccount: true,
            service: Offer(
                name: "alidns", company: "Alibaba", product: "AliDNS with an AccessKey",
                url: "https://dns.alidns.com/resolve")),
        .doh: Facts(takes: [.clientSubnet, .method, .trustAD]),
        .alicloud: Facts(
            needs: [.account], takes: [.keyFile, .region, .serviceNodes, .clientSubnet, .query],
            service: Offer(
                company: "Alibaba", product: "EMAS HTTPDNS", url: "https://resolvers.httpdns.aliyuncs.com/")),
        .alicloudV2: Facts(
            needs: [.account, .keyFile],
            takes: [.cipher, .cipherKeyFile, .region, .serviceNodes, .clientSubnet, .query, .tags],
            service: Offer(
                company: "Alibaba", product: "EMAS HTTPDNS, version 2",
                url: "https://resolvers.httpdns.aliyuncs.com/")),
        .dnspodHTTPS: Facts(
            needs: [.keyFile], takes: [.account, .expiring, .serviceNodes, .clientSubnet], sendsKey: true,
            nodesHaveCertificates: true,
            service: Offer(company: "Tencent", product: "HTTPDNS over TLS", url: "https://119.29.29.99/d")),
        .dnspodAES: Facts(
            needs: [.account, .keyFile], takes: [.expiring, .serviceNodes, .clientSubnet, .clientSubnetForm],
            encryptsNames: true,
            service: Offer(company: "Tencent", product: "HTTPDNS with AES", url: "http://119.29.29.98/d")),
        .dnspodDES: Facts(
            needs: [.account, .keyFile], takes: [.expiring, .serviceNodes, .clientSubnet, .clientSubnetForm],
            encryptsNames: true,
            service: Offer(company: "Tencent", product: "HTTPDNS with DES", url: "http://119.29.29.98/d")),
        // The list of nodes is a trial, and off in the vendor's SDK. It is not published how its header carries more
        // than one tag.
        .volcengine: Facts(
            needs: [.account, .keyFile], takes: [.serviceNodes, .clientSubnet, .tags, .appID], takesOneTag: true,
            usesNodes: false,
            service: Offer(
                company: "ByteDance", product: "HTTPDNS of Volcengine",
                url: "https://httpdns.volcengineapi.com/resolve")),
        .baidu: Facts(
            needs: [.account, .keyFile], takes: [.serviceNodes, .clientSubnet],
            // The name on the certificate, whatever address is dialled (providers.md, correction C2).
            certificateName: "httpdns.baidubce.com",
            service: Offer(company: "Baidu", product: "HTTPDNS", url: "https://180.76.76.200/v4/resolve")),
        // The vendor selects addresses by the client's own IP address, and takes no subnet.
        .ucloud: Facts(
            needs: [.account, .keyFile], takes: [.serviceNodes, .appID],
            service: Offer(
                company: "UCloud", product: "HTTPDNS, over http only", url: "http://httpdns.ucloud.cn/")),
        .template: Facts(needs: [.template], takes: [.account, .keyFile, .clientSubnet]),
    ]

    package struct Facts: Sendable {
        /// Keys that a provider of this dialect must have.
        package var needs: Set<Key> = []
        /// Keys that it may have.
        package var takes: Set<Key> = []
        /// `account`, `access-key` and `key-file` are set together or not at all.
        package var takesWholeAccount = false
        var takesOneTag = false
        /// The service nodes that the vendor lists are asked unless the settings say otherwise.
        var usesNodes = true
        /// Requests hide names without TLS.
        var encryptsNames = false
        /// Requests have the content of `key-file` as it is.
        var sendsKey = false
        /// Each service node has a certificate for its own address, if the URL has an address. Tencent's clients check
        /// that certificate, after the list itself came over TLS.
        package var nodesHaveCertificates = false
        /// The only name on the vendor's certificate.
        package var certificateName: String?
        /// The service that setup offers.
        package var service: Offer?

        func accepts(_ key: Key) -> Bool { needs.contains(key) || takes.contains(key) }
    }

    /// A vendor's service that needs an account.
    package struct Offer: Sendable {
        /// The name for `--account`; nil: the dialect's.
        package var name: String?
        /// The company that sees the names.
        package let company: String
        package let product: String
        /// The URL as the vendor publishes it.
        package let url: String
    }

    /// Keys of [[provider]] that only some dialects accept, in the order of complaints about them.
    package enum Key: String, CaseIterable, Sendable {
        case account
        case accessKey = "access-key"
        case keyFile = "key-file"
        case cipher
        case cipherKeyFile = "cipher-key-file"
        case expiring, region
        case serviceNodes = "service-nodes"
        case clientSubnet = "client-subnet"
        case clientSubnetForm = "client-subnet-form"
        case method
        case trustAD = "trust-ad"
        case template, query, tags
        case appID = "app-id"
    }

    package var facts: Facts {
        guard let row = Self.rows.first(where: { $0.key == self }) else {
            preconditionFailure("dialect \(rawValue) has no row")
        }
        return row.value
    }

    func accepts(_ key: Key) -> Bool { facts.accepts(key) }

    /// Returns the end of a complaint about a key that the dialect does not accept: the dialects that accept it, or the
    /// exceptions if those are fewer. Nil for a key that it accepts.
    private func refusal(of key: Key) -> String? {
        guard !accepts(key) else { return nil }
        let (others, dialects) = (Self.allCases.filter { !$0.accepts(key) }, Self.allCases.filter { $0.accepts(key) })
        let words = { (list: [Self]) in list.map { quoted($0.rawValue) }.joined(separator: ", ") }
        return "\(finding); allowed: with "
            + (others.count < dialects.count ? "every dialect but \(words(others))" : words(dialects))
    }

    /// Returns the given keys that the dialect does not accept, each with the end of a complaint.
    func misplaced(_ given: Set<String>, tags: [String]) -> [(key: String, text: String)] {
        let refused = Key.allCases.filter { given.contains($0.rawValue) }.compactMap { key in
            refusal(of: key).map { (key: key.rawValue, text: $0) }
        }
        guard facts.takesOneTag, tags.count > 1 else { return refused }
        return refused + [(key: "tags", text: "\(finding); allowed: one tag")]
    }

    /// The start of a complaint about a key.
    private var finding: String { "found with dialect \(quoted(rawValue))" }
}
