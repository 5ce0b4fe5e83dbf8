// Every dialect by the name that settings use for it.

package enum Dialects {
    private static let makers: [(name: String, make: @Sendable (_ url: String, _ account: String) -> any Dialect)] = [
        ("dnspod", { DNSPod(url: $0, account: $1) }),
        ("json", { url, _ in JSONDialect(url: url) }),
        ("doh", { url, _ in DoHDialect(url: url) }),
        ("doh-post", { url, _ in DoHDialect(url: url, method: .post) }),
    ]

    /// What `dialect` may be in a `[[provider]]` table.
    package static let names: [String] = makers.map(\.name)

    /// Nil for an unknown name.
    /// - Parameter account: the provider's id for us; empty where it wants none.
    package static func make(named name: String, url: String, account: String = "") -> (any Dialect)? {
        makers.first { $0.name == name }?.make(url, account)
    }
}
