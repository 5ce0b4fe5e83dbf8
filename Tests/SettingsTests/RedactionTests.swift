// What a report for other people shows of the settings.

import Testing

@testable import Settings

@Suite("Redacted settings")
struct RedactionTests {
    private static let canary = "canary"

    /// Each text has the canary, if its key may hold a secret.
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
        key-file = "signed"
        """

    /// Every key of a provider must be in one of these: a new one may hold a secret.
    private static let removed: Set<String> = ["url", "account", "access-key", "proxy"]
    private static let shown: Set<String> = [
        "name", "dialect", "addresses", "sni", "verify-name", "host", "ca-file", "key-file", "cipher",
        "cipher-key-file", "expiring", "region", "service-nodes", "client-subnet", "proxy-key-file", "method", "budget",
        "shadow", "timeout", "idle", "connection-requests",
    ]
    private static let removedOfTemplate: Set<String> = ["query", "headers", "signed", "join"]
    private static let shownOfTemplate: Set<String> = [
        "max-names", "lifetime", "digest", "sort", "v4", "v6", "ttl", "success",
    ]

    @Test("every key of a provider is either shown or known to hold secrets")
    func keys() {
        #expect(Set(ProviderDraft.keys.map(\.name)) == Self.removed.union(Self.shown))
        #expect(
            Set(Settings.Provider.Template.keys.map(\.name)) == Self.removedOfTemplate.union(Self.shownOfTemplate))
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
        ] {
            #expect(shown.split(separator: "\n").contains(Substring(line)), "\(line) is not in \(shown)")
        }
        let texts = settings.redactedTexts
        #expect(texts.isSuperset(of: ["canary-1", "canary-2", "canary-3", "canary", "/canary/dns-query"]))
        #expect(!texts.contains("/resolve") && !texts.contains(Settings.removed))
    }

    @Test("settings without secrets stay as they are")
    func defaults() {
        #expect(Settings.defaults.redacted == .defaults && Settings.defaults.redactedTexts.isEmpty)
    }
}
