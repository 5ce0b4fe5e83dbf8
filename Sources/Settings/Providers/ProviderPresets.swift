// Public providers that setup offers, one row each, free and dialled by address. The default providers are among them.
// A provider is listed only if its operator, or a maintained public list, publishes its addresses for DNS over HTTPS.
// A new row needs its lines in httpdnsd-providers(7) and in etc/completion.

package import DNSWire

extension Settings.Provider {
    /// The default providers.
    package static let builtIn = Preset.all.filter(\.isDefault).map { $0.provider(id: "") }

    /// A service for DNS over HTTPS that is in no table.
    package init(name: String, doh url: Settings.ProviderURL, addresses: [Address]) {
        self.init(name: name, dialect: .doh, url: url, addresses: addresses)
    }

    package struct Preset: Sendable {
        /// What the provider answers falsely on purpose.
        package enum Filtering: CaseIterable, Sendable {
            case nothing
            /// Names that the authorities of mainland China block.
            case chineseRules
            case malware
            case malwareAndAds
            case malwareAdsAndAdultSites
            /// The operator's own choice, in a profile with the provider.
            case profile
        }

        /// Whether the provider tells authoritative servers the client's network (RFC 7871).
        package enum ClientSubnets: CaseIterable, Sendable {
            case sent
            /// Another network of the same carrier or region is told.
            case replaced
            case withheld
            /// The sources of the table do not say.
            case unknown
        }

        /// The name in settings and for `--providers`.
        package let name: String
        /// The company or foundation that sees the names.
        package let company: String
        /// Where that has its seat, by general knowledge.
        package let country: String
        package let filtering: Filtering
        package let clientSubnets: ClientSubnets
        package let dialect: Dialect
        /// The host name in the URL.
        package let host: String
        /// The path; with an id, the part before it.
        package let path: String
        /// The path ends with the id of the operator's profile.
        package let needsID: Bool
        /// The addresses as text.
        package let addresses: [String]
        /// Publication of the addresses with its date. The URLs of the default providers are those of their operators.
        package let source: String
        /// Settings without a provider have this one.
        package let isDefault: Bool

        private init(
            _ name: String, _ company: String, _ country: String, _ filtering: Filtering,
            _ clientSubnets: ClientSubnets, _ host: String, path: String = "/dns-query", needsID: Bool = false,
            dialect: Dialect = .doh, _ addresses: [String], _ source: String, isDefault: Bool = false
        ) {
            (self.name, self.company, self.country) = (name, company, country)
            (self.filtering, self.clientSubnets, self.dialect) = (filtering, clientSubnets, dialect)
            (self.host, self.path, self.needsID, self.addresses) = (host, path, needsID, addresses)
            (self.source, self.isDefault) = (source, isDefault)
        }

        /// - Parameter id: the id of the profile; empty without one.
        package func provider(id: String) -> Settings.Provider {
            var provider = Settings.Provider(
                name: name, dialect: dialect, url: .init(host: .name(host), path: path + id),
                addresses: addresses.compactMap { Address($0) })
            provider.filters = blocks
            return provider
        }

        /// The operator may choose the provider for the names that it blocks.
        package var blocks: Bool {
            switch filtering {
            case .nothing, .chineseRules: false
            case .malware, .malwareAndAds, .malwareAdsAndAdultSites, .profile: true
            }
        }
    }
}

extension Settings.Provider.Preset {
    /// dnscrypt-resolvers, v3/public-resolvers.md, commit 24795a19.
    private static let stamps = "github.com/DNSCrypt/dnscrypt-resolvers, 2026-07-24"
    /// KnowledgeBaseDNS, docs/general/dns-providers.md, commit 02636e96.
    private static let knowledgeBase = "github.com/AdguardTeam/KnowledgeBaseDNS, 2026-07-21"
    /// nextdns, run.go, commit cd213c98.
    private static let nextDNS = "github.com/nextdns/nextdns, 2026-07-12"
    /// ctrld, config.go, commit 37c33315.
    private static let controlD = "github.com/Control-D-Inc/ctrld, 2026-03-06"

    /// All presets, in the order of the dialogue: the default ones first.
    package static let all: [Self] = [
        Self(
            "alidns", "Alibaba", "China", .chineseRules, .sent, "dns.alidns.com", path: "/resolve", dialect: .json,
            ["223.5.5.5", "223.6.6.6"], stamps, isDefault: true),
        Self(
            "dnspod", "Tencent", "China", .chineseRules, .unknown, "doh.pub", ["1.12.12.12", "120.53.53.53"], stamps,
            isDefault: true),
        Self(
            "google", "Google", "United States", .nothing, .sent, "dns.google", ["8.8.8.8", "8.8.4.4"], stamps,
            isDefault: true),
        Self(
            "cloudflare", "Cloudflare", "United States", .nothing, .withheld, "cloudflare-dns.com",
            ["1.1.1.1", "1.0.0.1"], knowledgeBase, isDefault: true),
        Self(
            "cloudflare-security", "Cloudflare", "United States", .malware, .withheld, "security.cloudflare-dns.com",
            ["1.1.1.2", "1.0.0.2", "2606:4700:4700::1112", "2606:4700:4700::1002"], knowledgeBase),
        Self(
            "quad9", "Quad9", "Switzerland", .malware, .withheld, "dns.quad9.net",
            ["9.9.9.9", "149.112.112.112", "2620:fe::fe", "2620:fe::9"], knowledgeBase),
        Self(
            "quad9-ecs", "Quad9", "Switzerland", .malware, .sent, "dns11.quad9.net",
            ["9.9.9.11", "149.112.112.11", "2620:fe::11", "2620:fe::fe:11"], stamps),
        Self(
            "quad9-unfiltered", "Quad9", "Switzerland", .nothing, .withheld, "dns10.quad9.net",
            ["9.9.9.10", "149.112.112.10", "2620:fe::10", "2620:fe::fe:10"], stamps),
        // Client subnets: github.com/AdguardTeam/AdGuardDNS, issue 649.
        Self(
            "adguard", "AdGuard", "Cyprus", .malwareAndAds, .replaced, "dns.adguard-dns.com",
            ["94.140.14.14", "94.140.15.15", "2a10:50c0::ad1:ff", "2a10:50c0::ad2:ff"], knowledgeBase),
        Self(
            "adguard-family", "AdGuard", "Cyprus", .malwareAdsAndAdultSites, .replaced, "family.adguard-dns.com",
            ["94.140.14.15", "94.140.15.16", "2a10:50c0::bad1:ff", "2a10:50c0::bad2:ff"], knowledgeBase),
        Self(
            "adguard-unfiltered", "AdGuard", "Cyprus", .nothing, .replaced, "unfiltered.adguard-dns.com",
            ["94.140.14.140", "94.140.14.141", "2a10:50c0::1:ff", "2a10:50c0::2:ff"], knowledgeBase),
        Self(
            "mullvad", "Mullvad", "Sweden", .nothing, .unknown, "dns.mullvad.net", ["194.242.2.2", "2a07:e340::2"],
            stamps),
        Self(
            "mullvad-base", "Mullvad", "Sweden", .malwareAndAds, .unknown, "base.dns.mullvad.net",
            ["194.242.2.4", "2a07:e340::4"], stamps),
        Self(
            "dns-sb", "xTom", "Germany", .nothing, .unknown, "doh.dns.sb",
            ["185.222.222.222", "45.11.45.11", "2a09::", "2a11::"], knowledgeBase),
        // With NextDNS, the service that dns0.eu named to its users at its end in October 2025.
        Self(
            "dns4eu", "Whalebone", "Czechia", .malware, .unknown, "protective.joindns4.eu",
            ["86.54.11.1", "86.54.11.201", "2a13:1001::86:54:11:1", "2a13:1001::86:54:11:201"], knowledgeBase),
        Self(
            "controld-unfiltered", "Control D", "Canada", .nothing, .unknown, "freedns.controld.com", path: "/p0",
            ["76.76.2.11", "2606:1a40::11"], controlD),
        Self(
            "controld", "Control D", "Canada", .profile, .unknown, "dns.controld.com", path: "/", needsID: true,
            ["76.76.2.22", "2606:1a40::22"], controlD),
        Self(
            "nextdns", "NextDNS", "United States", .profile, .unknown, "dns.nextdns.io", path: "/", needsID: true,
            ["45.90.28.0", "45.90.30.0", "2a07:a8c0::", "2a07:a8c1::"], nextDNS),
    ]
}
