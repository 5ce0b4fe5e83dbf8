// The keys of a [[provider]] and of its template: name, format and bounds.

import DNSWire

extension Settings.Provider: KeyedElement {
    /// Maximum number of addresses. Providers have a handful. Each costs connections and is tried when others fail.
    private static let maxAddresses = 16
    /// The bounds of the budget. The minimum keeps the provider in use; no public service tolerates more than the
    /// maximum.
    private static let budgets = 1...10_000
    /// Maximum number of names. Longer lists belong in a file.
    private static let maxNames = 1000
    /// The bounds of `shadow`. A smaller share would compare almost nothing in a day.
    private static let shares = 0.001...1.0
    /// The bounds of `price`, in any currency.
    private static let prices = 0.0...1_000_000.0
    /// The bounds of `idle`. Vendors close unused connections after seconds to minutes.
    private static let idleTimes = Duration.seconds(1)...Duration.seconds(600)
    /// The bounds of the timeout. A shorter one would end every request to another continent; no program waits longer
    /// for a name.
    private static let timeouts = Duration.milliseconds(200)...Duration.seconds(15)
    /// The bounds of `connection-requests`. A larger number has no effect.
    private static let connectionRequests = 1...100_000

    static let empty = Self(name: "", dialect: .json, url: .empty, addresses: [])
    static let required: KeyValuePairs = [
        "name": "\"my-provider\"", "dialect": "\"doh\"", "url": "\"https://HOST/PATH\"",
    ]

    /// The keys in the order of a written file, which has those of `Dialect.Key` only if the dialect accepts them.
    static let keys: [Key<Settings.Provider>] = [
        Key("name", \.name, .providerName),
        Key("dialect", \.dialect, .choice),
        Key("url", \.url, .providerURL),
        Key("addresses", \.addresses, Format.address.list(of: "IP addresses", 0...maxAddresses)),
        Key("sni", \.sni, Format.hostName.orEmpty()),
        Key("verify-name", \.verifyName, Format.hostNameOrAddress.orEmpty()),
        Key("host", \.host, Format.hostHeader.orEmpty()),
        Key("ca-file", \.caFile, Format.path().orEmpty()),
        Key("account", \.account, Format.account.orEmpty()),
        Key("access-key", \.accessKey, Format.account.orEmpty()),
        Key("key-file", \.keyFile, Format.keyFile.orEmpty()),
        Key("cipher", \.cipher, Format<CipherMode>.choice.optional),
        Key("cipher-key-file", \.cipherKeyFile, Format.keyFile.orEmpty()),
        Key("expiring", \.expiring, .truth),
        Key("region", \.region, Format.word(of: regions).optional),
        Key("service-nodes", \.serviceNodes, .truth),
        Key("query", \.parameters.query, .requestQuery),
        Key("tags", \.parameters.tags, .requestTags),
        Key("app-id", \.parameters.appID, Format.account.orEmpty()),
        Key("client-subnet", \.clientSubnet, Format.clientSubnet.orEmpty()),
        Key("client-subnet-form", \.clientSubnetForm, .choice),
        Key("proxy", \.proxy, Format.proxy.orEmpty()),
        Key("proxy-key-file", \.proxyKeyFile, Format.keyFile.orEmpty()),
        Key("method", \.method, .choice),
        Key("trust-ad", \.trustAD, Format.truth.leavingOut(false)),
        Key("filters", \.filters, Format.truth.leavingOut(false)),
        Key("budget", \.budgetPerSecond, Format.rate(budgets).optional),
        Key("shadow", \.shadow, Format.number(shares).optional),
        Key("names", \.names, Format.ownName.list(of: "names", 0...maxNames).leavingOut([])),
        Key("names-file", \.namesFile, Format.path().orEmpty()),
        Key("exclusive", \.exclusive, Format.truth.leavingOut(false)),
        Key("views-only", \.viewsOnly, Format.truth.leavingOut(false)),
        Key("quota", \.quota, Format.quota.optional),
        Key("price", \.price, Format.number(prices).optional),
        Key("audit", \.audit, Format.truth.optional),
        Key("when-used-up", \.whenUsedUp, Format.choice.leavingOut(.next)),
        Key("hedge", \.hedge, Format.truth.optional),
        Key("timeout", \.timeout, Format.duration(timeouts).leavingOut(.seconds(3))),
        Key("idle", \.idle, .wholeSeconds(idleTimes)),
        Key(
            "connection-requests", \.connectionRequests,
            Format.integer(connectionRequests, meaning: "on one connection").optional),
    ]
}

extension Settings.Provider.Template: KeyedTable {
    /// The bounds of the names per request. No vendor accepts more.
    private static let names = 1...20
    /// The bounds of the lifetime. No vendor accepts a signature with a longer validity.
    private static let lifetimes = 1...24 * 3600
    private static let maxHeaders = 16
    private static let maxSigned = 32
    /// The bounds of the statuses, those of refusals (RFC 9110 section 15.5).
    private static let nameStatuses = 400...499
    private static let maxNameStatuses = 8

    static let requiredKeys = ["query"]

    static let keys: [Key<Settings.Provider.Template>] = [
        Key("query", \.query, .template(minBytes: 1, .always)),
        Key(
            "headers", \.headers,
            Format.template(minBytes: 1, .always).list(of: "strings", 0...maxHeaders).leavingOut([])),
        Key("max-names", \.maxNames, .integer(names, meaning: "in one request")),
        Key("lifetime", \.lifetimeSeconds, .seconds(lifetimes)),
        Key("digest", \.digest, .choice),
        Key("signed", \.signed, Format.template(.always).list(of: "strings", 0...maxSigned).leavingOut([])),
        Key("sort", \.sorts, .truth),
        Key("join", \.joiner, Format.template(.always).leavingOut("")),
        Key("v4", \.v4, Format.template().leavingOut("")),
        Key("v6", \.v6, Format.template().leavingOut("")),
        Key("ttl", \.ttl, Format.template().leavingOut("")),
        Key("success", \.success, Format.template().leavingOut("")),
        Key(
            "name-status", \.nameStatuses,
            Format.integer(nameStatuses, meaning: "HTTP status").list(of: "HTTP statuses", 0...maxNameStatuses)
                .leavingOut([])),
    ]
}
