// What the operator says about a provider: how to speak with it, where it is, and how much of it is used.

package import DNSWire

extension Settings {
    package struct Provider: Equatable, Sendable {
        package enum Dialect: String, CaseIterable, Sendable {
            case dnspod
            case dnspodDES = "dnspod-des"
            case dnspodAES = "dnspod-aes"
            case dnspodHTTPS = "dnspod-https"
            case alicloud
            case alicloudV2 = "alicloud-v2"
            case volcengine, json, doh, baidu, ucloud, template
        }

        package enum Method: String, CaseIterable, Sendable {
            case get = "GET"
            case post = "POST"
        }

        /// For whom a provider is to choose addresses.
        package enum ClientSubnet: Hashable, Sendable {
            case fixed(Prefix)
            /// That of the client that asks, if its address is public.
            case auto
        }

        /// How alicloud-v2 hides what it asks.
        package enum CipherMode: String, CaseIterable, Sendable {
            /// Not at all.
            case plain = "none"
            case cbc, gcm
        }

        /// Letters, digits, "-", "_" and "."; what statistics and logs call it.
        package var name: String
        package var dialect: Dialect
        package var url: ProviderURL
        /// What is dialled; one or more.
        package var addresses: [Address]
        /// Nil: from the URL. So are the next two.
        package var sni: String?
        /// The name or address that the certificate must be valid for.
        package var verifyName: String?
        /// The Host header.
        package var host: String?
        /// Absolute path; nil: the system's certificate authorities.
        package var caFile: String?
        /// Who we are to the vendor; nil: none is sent. Not nil for dialects that need one.
        package var account: String?
        /// The AccessKey id of AliDNS; not nil for json with an account.
        package var accessKey: String?
        /// The account's token or key: an absolute path, or the name of a systemd credential. Not nil for dialects that
        /// need one. So are the other key files, where they are.
        package var keyFile: String?
        /// For alicloud-v2; nil is `plain`. With cbc and gcm there is a `cipherKeyFile`.
        package var cipher: CipherMode?
        package var cipherKeyFile: String?
        /// For dnspod-des, -aes and -https: requests carry the time at which they end.
        package var expiring = false
        /// For alicloud and alicloud-v2: one of `regions`; nil is the vendor's default.
        package var region: String?
        /// For alicloud and alicloud-v2: the addresses that the vendor lists take the place of `addresses`.
        package var serviceNodes = true
        /// Not nil for the dialect template, and nil for others.
        package var template: Template?
        /// Nil: none is sent.
        package var clientSubnet: ClientSubnet?
        /// Nil: dialled directly.
        package var proxy: Proxy?
        /// The password of the proxy's user; not nil only for a proxy with one.
        package var proxyKeyFile: String?
        /// For doh.
        package var method = Method.get
        /// All questions to it, refreshes included; 1 to 10,000. Nil: no bound for what clients ask.
        package var budgetPerSecond: Int?
        /// A share of all questions, 0.001 to 1, that it is asked beside others; what it answers is only compared.
        package var shadow: Double?
        /// How long an unused connection stays open; whole seconds, 1 s to 10 min.
        package var idle = Duration.seconds(10)
        /// How many requests a connection carries, 1 to 100,000. Nil: no cap.
        package var connectionRequests: Int?

        package static let regions = ["cn", "hk", "sg", "de", "us", "global"]
    }
}

extension Settings.Provider {
    /// A vendor's API in texts; what they mean is the dialect's business. All are printable ASCII of up to 2,000 bytes.
    package struct Template: Equatable, Sendable {
        package enum Digest: String, CaseIterable, Sendable {
            case none, md5, sha256
            case hmacSHA256 = "hmac-sha256"
        }

        /// Never empty.
        package var query: String
        /// Up to 16.
        package var headers: [String] = []
        /// In one request; 1 to 20.
        package var maxNames = 1
        /// Of signatures; 1 s to 24 h.
        package var lifetimeSeconds = 300
        package var digest = Digest.none
        /// Up to 32.
        package var signed: [String] = []
        package var sorts = false
        package var joiner = ""
        /// Where the addresses are in a reply; one of the two is not empty.
        package var v4 = ""
        package var v6 = ""
        package var ttl = ""
        package var success = ""
    }
}
