// The operator's settings of a provider: dialect, endpoint, credentials and limits.

package import DNSWire

extension Settings {
    package struct Provider: Equatable, Sendable {
        package enum Method: String, CaseIterable, Sendable {
            case get = "GET"
            case post = "POST"
        }

        /// The client subnet that a provider selects addresses for.
        package enum ClientSubnet: Hashable, Sendable {
            case fixed(Prefix)
            /// The subnet of the client that asks, if its address is public.
            case auto
        }

        /// How dnspod-des and dnspod-aes send the client subnet.
        package enum ClientSubnetForm: String, CaseIterable, Sendable {
            /// The subnet is sent unencrypted, as Tencent's SDKs do.
            case clear
            /// The subnet is encrypted, as Tencent's documents say.
            case encrypted
        }

        /// How alicloud-v2 encrypts requests.
        package enum CipherMode: String, CaseIterable, Sendable {
            /// No encryption.
            case plain = "none"
            case cbc, gcm
        }

        /// The name of letters, digits, "-", "_" and "."; used in statistics and logs.
        package var name: String
        package var dialect: Dialect
        package var url: ProviderURL
        /// The addresses to dial; empty only for https with a host name, which the daemon then resolves.
        package var addresses: [Address]
        /// The name in SNI; nil: taken from the URL, as for `verifyName` and `host`.
        package var sni: String?
        /// The name or address that the certificate must be valid for.
        package var verifyName: String?
        /// The Host header.
        package var host: String?
        /// The absolute path of a file with certificate authorities; nil: the system's.
        package var caFile: String?
        /// The account id for the vendor; nil: none is sent. Never nil for dialects that require one.
        package var account: String?
        /// The AccessKey id of AliDNS; not nil for json with an account.
        package var accessKey: String?
        /// The account's token or key: an absolute path, or the name of a systemd credential. Never nil for dialects
        /// that require one. The other key files have the same form.
        package var keyFile: String?
        /// The encryption of alicloud-v2; nil means `plain`. With cbc and gcm `cipherKeyFile` is set.
        package var cipher: CipherMode?
        package var cipherKeyFile: String?
        /// Requests of dnspod-des, -aes and -https carry their expiry time.
        package var expiring = false
        /// The region of alicloud and alicloud-v2, one of `regions`; nil: "global", the nearest.
        package var region: String?
        /// The service nodes that the vendor lists are asked before `addresses`; false for a vendor without a list.
        package var serviceNodes = false
        /// The template; set exactly for the dialect template.
        package var template: Template?
        /// Parameters sent with every request; empty: none.
        package var parameters = RequestParameters()
        /// Parameters sent instead with requests about these names and names below them; from the rules that name the
        /// provider.
        package var parametersOfNames: [Name: RequestParameters] = [:]
        /// The client subnet that is sent; nil: none.
        package var clientSubnet: ClientSubnet?
        /// The form of the client subnet for dnspod-des and -aes.
        package var clientSubnetForm = ClientSubnetForm.clear
        /// The proxy; nil: a direct connection.
        package var proxy: Proxy?
        /// The file with the password of the proxy's user; nil if there is no user.
        package var proxyKeyFile: String?
        /// The HTTP method of the dialect doh.
        package var method = Method.get
        /// The provider, doh over https, validates (DNSSEC), and clients get its AD bit.
        package var trustAD = false
        /// The provider blocks names by the operator's choice: its word is final.
        package var filters = false
        /// Bounds all queries to the provider, refreshes included; 1 to 10,000. Nil: no bound for client queries.
        package var budgetPerSecond: Int?
        package var whenUsedUp = WhenUsedUp.next
        /// The share of all queries, 0.001 to 1, that are also sent to the provider; its answers are only compared.
        package var shadow: Double?
        /// Names that belong to the account, each with all names below it or alone; up to 1,000.
        package var names: [QuestionScope] = []
        /// The absolute path of a file with more names that belong to the account.
        package var namesFile: String?
        /// No provider without these names is asked for them.
        package var exclusive = false
        /// The provider is asked only for the views that name it, and for names that a rule sends to it.
        package var viewsOnly = false
        /// Subnets sent instead of `clientSubnet` with questions of clients of these views, by the numbers of the
        /// views.
        package var clientSubnetOfView: [UInt32: ClientSubnet] = [:]
        /// The quota of the account; nil: unlimited.
        package var quota: QuestionQuota?
        /// The price of 1,000 questions, in any unit that is the same for all providers. Nil: it is not known.
        package var price: Double?
        /// The audit asks the provider comparison questions. Nil: unless its questions are billed or have a price.
        package var audit: Bool?
        /// Requests may go to the provider while another upstream is late. Nil: they may unless its questions are
        /// billed.
        package var hedge: Bool?
        /// How long a request may take, connection setup included; 200 ms to 15 s.
        package var timeout = Duration.seconds(3)
        /// How long an unused connection stays open; whole seconds, 1 s to 10 min.
        package var idle = Duration.seconds(10)
        /// The most requests on one connection, 1 to 100,000. Nil: no limit.
        package var connectionRequests: Int?

        /// The provider is asked only for names that belong to it, and for names that a rule sends to it.
        package var hasOwnNames: Bool { !names.isEmpty || namesFile != nil }

        /// The vendor counts requests for the account's bill.
        package var isBilled: Bool { account != nil || quota != nil }

        /// The audit may ask the provider comparison questions.
        package var isAudited: Bool { audit ?? (!isBilled && (price ?? 0) == 0) }

        /// The settings without those that only choose questions: a change of the latter keeps connections and
        /// measurements.
        package var endpoint: Self {
            var endpoint = self
            (endpoint.names, endpoint.namesFile, endpoint.exclusive, endpoint.viewsOnly) = ([], nil, false, false)
            (endpoint.whenUsedUp, endpoint.filters) = (.next, false)
            (endpoint.quota, endpoint.hedge, endpoint.clientSubnetOfView) = (nil, nil, [:])
            (endpoint.price, endpoint.audit) = (nil, nil)
            return endpoint
        }

        package static let regions = ["cn", "hk", "sg", "de", "us", "global"]

        /// The keys that name the file of a secret, with their values. A pasted secret may stand in place of
        /// the name, so only values that are `isPublic(file:)` may be shown.
        package var secretFiles: [(key: String, file: String)] {
            [("key-file", keyFile), ("cipher-key-file", cipherKeyFile), ("proxy-key-file", proxyKeyFile)]
                .compactMap { key, file in file.map { (key, $0) } }
        }

        /// True if requests carry names over the network without TLS or encryption by the dialect.
        package var exposesNames: Bool {
            guard !url.isSecure, !addresses.allSatisfy(\.isLoopback) else { return false }
            return !dialect.facts.encryptsNames && (cipher ?? .plain) == .plain
        }
    }
}

extension Settings.Provider {
    /// Text templates of a vendor's API, interpreted by the dialect. All are printable ASCII of up to 2,000 bytes.
    package struct Template: Equatable, Sendable {
        package enum Digest: String, CaseIterable, Sendable {
            case none, md5, sha256
            case hmacSHA256 = "hmac-sha256"
        }

        /// The query, never empty.
        package var query: String
        /// The headers, up to 16.
        package var headers: [String] = []
        /// The number of names in one request, 1 to 20.
        package var maxNames = 1
        /// Validity of signatures; 1 s to 24 h.
        package var lifetimeSeconds = 300
        package var digest = Digest.none
        /// The signed texts, up to 32.
        package var signed: [String] = []
        package var sorts = false
        package var joiner = ""
        /// Paths of the addresses in a reply; at least one of the two is not empty.
        package var v4 = ""
        package var v6 = ""
        package var ttl = ""
        package var success = ""
        /// HTTP statuses that may concern the name; 400 to 499, up to 8.
        package var nameStatuses: [Int] = []

        package init(query: String) { self.query = query }
    }
}
