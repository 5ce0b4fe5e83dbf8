// The parts of the settings that a bug report shows.

import Testing

@testable import Settings

@Suite("Redacted settings")
struct RedactionTests {
    private static let canary = "canary"

    /// A file with the canary in each text whose key may hold a secret.
    private static let text = """
        [[provider]]
        name = "vendor"
        dialect = "template"
        url = "https://dns.example:8443/canary/dns-query"
        addresses = ["192.0.2.1"]
        account = "canary-1"
        key-file = "/etc/httpdnsd/vendor.key"
        proxy = "http://canary@192.0.2.9:3128"
        proxy-key-file = "/etc/httpdnsd/proxy.key"
        [provider.template]
        query = "domain={name}&token=canary"
        headers = ["X-Token: canary", "Accept: text/plain"]
        digest = "md5"
        signed = ["canary", "{name}"]
        join = "canary"
        v4 = "ips"
        [[provider]]
        name = "signed"
        dialect = "json"
        url = "https://192.0.2.2/resolve"
        account = "canary-2"
        access-key = "canary-3"
        key-file = "canary-4"
        [[provider]]
        name = "pasted"
        dialect = "alicloud-v2"
        url = "https://192.0.2.3/"
        account = "canary-5"
        key-file = "pasted"
        cipher-key-file = "canary-6"
        query = {"sdns-level" = "canary-11"}
        tags = ["canary-12"]
        proxy = "http://canary@192.0.2.9:3128"
        proxy-key-file = "canary-7"
        [[provider]]
        name = "ucloud"
        dialect = "ucloud"
        url = "http://192.0.2.6/"
        account = "canary-13"
        key-file = "/k"
        app-id = "canary-14"
        [[rule]]
        match = ["a.example"]
        resolver = "pasted"
        query = {"sdns-city" = "canary-15"}
        tags = ["canary-16"]
        [[rule]]
        match = ["b.example"]
        resolver = "ucloud"
        app-id = "canary-17"
        [[notify]]
        url = "https://alerts.example/canary-8/events?token=canary-9"
        addresses = ["192.0.2.4"]
        key-file = "canary-10"
        [[notify]]
        url = "http://192.0.2.5:8080"
        key-file = "/etc/httpdnsd/notify.key"
        [fleet]
        server = "redis://192.0.2.6"
        site = "here"
        key-file = ["canary-18", "/etc/httpdnsd/fleet.key"]
        password-file = "canary-19"
        """

    /// The keys of a provider whose values are removed. Every key must be in one of these lists, because a new one may
    /// hold a secret.
    private static let removed: Set<String> = [
        "url", "account", "access-key", "key-file", "cipher-key-file", "proxy", "proxy-key-file",
        "query", "tags", "app-id",
    ]
    private static let shown: Set<String> = [
        "name", "dialect", "addresses", "sni", "verify-name", "host", "ca-file", "cipher", "expiring", "region",
        "service-nodes", "client-subnet", "client-subnet-form", "method", "trust-ad", "filters", "budget", "shadow",
        "names", "names-file", "exclusive", "views-only", "quota", "price", "audit", "when-used-up", "hedge",
        "timeout", "idle", "connection-requests",
    ]
    private static let removedOfTemplate: Set<String> = ["query", "headers", "signed", "join"]
    private static let shownOfTemplate: Set<String> = [
        "max-names", "lifetime", "digest", "sort", "v4", "v6", "ttl", "success", "name-status",
    ]

    @Test("every key of a provider is either shown or known to hold secrets")
    func keys() {
        #expect(Set(Settings.Provider.keys.map(\.name)) == Self.removed.union(Self.shown))
        #expect(
            Set(Settings.Provider.Template.keys.map(\.name)) == Self.removedOfTemplate.union(Self.shownOfTemplate))
        #expect(Set(Settings.Receiver.keys.map(\.name)) == ["url", "key-file", "addresses", "events", "ca-file"])
        #expect(
            Set(Settings.Fleet.keys.map(\.name)) == [
                "server", "site", "key-file", "user", "password-file", "read-timeout", "share",
            ])
        #expect(Settings.Nameserver.keys.allSatisfy { !$0.mayBeSecret })
    }

    @Test("no secret is left, and all else is")
    func secrets() throws {
        let settings = try Settings.parse(bytes: Array(Self.text.utf8), file: "f")
        let shown = settings.redacted.effectiveTOML
        #expect(!shown.contains(Self.canary), "\(shown)")
        for line in [
            #"name = "vendor""#, #"url = "https://dns.example:8443/(removed)""#, #"account = "(removed)""#,
            #"key-file = "/etc/httpdnsd/vendor.key""#, #"proxy = "http://(removed)@192.0.2.9:3128""#,
            #"proxy-key-file = "/etc/httpdnsd/proxy.key""#, #"query = "(removed)""#,
            #"headers = ["(removed)", "(removed)"]"#, #"signed = ["(removed)", "(removed)"]"#, #"join = "(removed)""#,
            #"v4 = "ips""#, #"url = "https://192.0.2.2/resolve""#, #"access-key = "(removed)""#,
            #"url = "https://alerts.example/(removed)?(removed)""#, #"url = "http://192.0.2.5:8080/""#,
            #"key-file = "/etc/httpdnsd/notify.key""#, #"query = {"sdns-level" = "(removed)"}"#,
            #"query = {"sdns-city" = "(removed)"}"#, #"tags = ["(removed)"]"#, #"app-id = "(removed)""#,
            #"key-file = ["(removed)", "/etc/httpdnsd/fleet.key"]"#, #"password-file = "(removed)""#,
            #"key-file = "(removed)""#, #"cipher-key-file = "(removed)""#, #"proxy-key-file = "(removed)""#,
        ] {
            #expect(shown.split(separator: "\n").contains(Substring(line)), "\(line) is not in \(shown)")
        }
        let texts = settings.redactedTexts
        #expect(texts.isSuperset(of: (1...7).map { "canary-\($0)" } + ["canary", "/canary/dns-query"]))
        #expect(texts.isSuperset(of: ["/canary-8/events", "token=canary-9"]))
        #expect(texts.isSuperset(of: (10...19).map { "canary-\($0)" }))
        // The name of a provider appears everywhere, so a credential with that name is not removed.
        for text in ["/resolve", Settings.removed, "pasted"] { #expect(!texts.contains(text), "\(text)") }
    }

    @Test("the settings in force are printed with accounts, but without values that may be pasted keys")
    func pastedKeys() throws {
        let shown = try Settings.parse(bytes: Array(Self.text.utf8), file: "f").withoutPastedKeys.effectiveTOML
        for number in [1, 2, 3, 5] { #expect(shown.contains("canary-\(number)")) }
        for number in [4, 6, 7, 10, 18, 19] { #expect(!shown.contains("canary-\(number)")) }
        #expect(shown.contains(#"key-file = "/etc/httpdnsd/vendor.key""#))
    }

    @Test("a path is shown only if it cannot be a key")
    func paths() {
        for path in ["/etc/httpdnsd/vendor.key", "/run/a_b-c.1"] { #expect(Settings.Provider.isPublic(file: path)) }
        for path in ["/AKID8krbsJ5y", "/AKID/8krb+J5y", "/AKID/8krbsJ5y=", "/", "name", ""] {
            #expect(!Settings.Provider.isPublic(file: path), "\(path)")
        }
    }

    @Test("the keys that messages hide are those that a report removes")
    func sameKeys() {
        #expect(Set(Settings.Provider.keys.filter(\.mayBeSecret).map(\.name)) == Self.removed)
        #expect(Set(Settings.Provider.Template.keys.filter(\.mayBeSecret).map(\.name)) == Self.removedOfTemplate)
    }

    @Test("settings without secrets stay as they are")
    func defaults() {
        #expect(Settings.defaults.redacted == .defaults && Settings.defaults.redactedTexts.isEmpty)
    }
}
