// Every dialect under a name, for tests that hold all of them to the same rules.

import HTTPDNS

enum Dialects {
    private static let makers: [(name: String, make: @Sendable (_ url: String) -> any Dialect)] = [
        ("dnspod", { DNSPod(url: $0) }),
        ("dnspod-https", { DNSPodHTTPS(url: $0, account: "1234", token: "567890") }),
        ("json", { JSONDialect(url: $0) }),
        ("doh", { DoHDialect(url: $0) }),
        ("doh-post", { DoHDialect(url: $0, method: .post) }),
    ]

    static let names: [String] = makers.map(\.name)

    /// Nil for an unknown name.
    static func make(named name: String, url: String) -> (any Dialect)? {
        makers.first { $0.name == name }?.make(url)
    }
}
