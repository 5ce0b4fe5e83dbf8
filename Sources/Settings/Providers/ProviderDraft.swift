// A [[provider]] as written in the file, before its keys are checked together.

import DNSWire

struct ProviderDraft: TableDraft {
    var name: String?
    var dialect: Settings.Provider.Dialect?
    var url: Settings.ProviderURL?
    var addresses: [Address] = []
    var sni: String?
    var verifyName: String?
    var host: String?
    var caFile: String?
    var account: String?
    var accessKey: String?
    var keyFile: String?
    var cipher: Settings.Provider.CipherMode?
    var cipherKeyFile: String?
    var expiring: Bool?
    var region: String?
    var serviceNodes: Bool?
    var parameters = Settings.RequestParameters()
    var clientSubnet: Settings.Provider.ClientSubnet?
    var clientSubnetForm: Settings.Provider.ClientSubnetForm?
    var proxy: Settings.Provider.Proxy?
    var proxyKeyFile: String?
    var method: Settings.Provider.Method?
    var trustAD: Bool?
    var budgetPerSecond: Int?
    var shadow: Double?
    var names: [QuestionScope] = []
    var namesFile: String?
    var exclusive: Bool?
    var viewsOnly: Bool?
    var quota: Settings.Provider.Quota?
    var whenUsedUp: Settings.Provider.WhenUsedUp?
    var hedge: Bool?
    var timeout = Duration.seconds(3)
    var idle = Duration.seconds(10)
    var connectionRequests: Int?
    /// The template, a subtable that follows the other keys.
    var template: Settings.Provider.Template?
}

extension ProviderDraft {
    /// Creates the draft for writing: omits keys that the dialect does not use.
    init(_ provider: Settings.Provider) {
        let dialect = provider.dialect
        self.init(
            name: provider.name, dialect: dialect, url: provider.url, addresses: provider.addresses,
            sni: provider.sni, verifyName: provider.verifyName, host: provider.host, caFile: provider.caFile,
            account: provider.account, accessKey: provider.accessKey, keyFile: provider.keyFile,
            cipher: provider.cipher, cipherKeyFile: provider.cipherKeyFile,
            expiring: dialect.accepts(.expiring) ? provider.expiring : nil, region: provider.region,
            serviceNodes: dialect.accepts(.serviceNodes) ? provider.serviceNodes : nil, parameters: provider.parameters,
            clientSubnet: provider.clientSubnet,
            clientSubnetForm: dialect.accepts(.clientSubnetForm) ? provider.clientSubnetForm : nil,
            proxy: provider.proxy, proxyKeyFile: provider.proxyKeyFile,
            method: dialect.accepts(.method) ? provider.method : nil, trustAD: provider.trustAD ? true : nil,
            budgetPerSecond: provider.budgetPerSecond,
            shadow: provider.shadow, names: provider.names, namesFile: provider.namesFile,
            exclusive: provider.exclusive ? true : nil, viewsOnly: provider.viewsOnly ? true : nil,
            quota: provider.quota, whenUsedUp: provider.whenUsedUp == .next ? nil : provider.whenUsedUp,
            hedge: provider.hedge,
            timeout: provider.timeout, idle: provider.idle, connectionRequests: provider.connectionRequests,
            template: provider.template)
    }

    /// The provider; nil if a required key is missing.
    var provider: Settings.Provider? {
        guard let name, let dialect, let url else { return nil }
        var dialled = addresses
        if case .address(let address) = url.host, addresses.isEmpty { dialled = [address] }
        guard !dialled.isEmpty || url.isSecure else { return nil }
        let usesNodes = dialect.accepts(.serviceNodes) && dialect.facts.usesNodes
        return Settings.Provider(
            name: name, dialect: dialect, url: url, addresses: dialled, sni: sni, verifyName: verifyName, host: host,
            caFile: caFile, account: account, accessKey: accessKey, keyFile: keyFile,
            cipher: cipher ?? (cipherKeyFile == nil ? nil : .gcm), cipherKeyFile: cipherKeyFile,
            expiring: expiring ?? false, region: region, serviceNodes: serviceNodes ?? usesNodes,
            template: template, parameters: parameters,
            clientSubnet: clientSubnet, clientSubnetForm: clientSubnetForm ?? .clear, proxy: proxy,
            proxyKeyFile: proxyKeyFile, method: method ?? .get, trustAD: trustAD ?? false,
            budgetPerSecond: budgetPerSecond, whenUsedUp: whenUsedUp ?? .next, shadow: shadow, names: names,
            namesFile: namesFile, exclusive: exclusive ?? false, viewsOnly: viewsOnly ?? false, quota: quota,
            hedge: hedge, timeout: timeout, idle: idle, connectionRequests: connectionRequests)
    }
}

extension ProviderDraft {
    /// Maximum number of addresses. Providers have a handful. Each costs connections and is tried when others fail.
    private static let maxAddresses = 16
    /// The bounds of the budget. The minimum keeps the provider in use; no public service tolerates more than the
    /// maximum.
    private static let budgets = 1...10_000
    /// Maximum number of names. Longer lists belong in a file.
    private static let maxNames = 1000
    /// The bounds of `shadow`. A smaller share would compare almost nothing in a day.
    private static let shares = 0.001...1.0
    /// The bounds of `idle`. Vendors close unused connections after seconds to minutes.
    private static let idleTimes = Duration.seconds(1)...Duration.seconds(600)
    /// The bounds of the timeout. A shorter one would end every request to another continent; no program waits longer
    /// for a name.
    private static let timeouts = Duration.milliseconds(200)...Duration.seconds(15)
    /// The bounds of `connection-requests`. A larger number has no effect.
    private static let connectionRequests = 1...100_000

    static let keys: [Key<ProviderDraft>] = [
        Key("name", \.name, Format.providerName.optional),
        Key("dialect", \.dialect, Format<Settings.Provider.Dialect>.choice.optional),
        Key("url", \.url, Format.providerURL.optional),
        Key("addresses", \.addresses, Format.address.list(of: "IP addresses", 0...maxAddresses)),
        Key("sni", \.sni, Format.hostName.orEmpty()),
        Key("verify-name", \.verifyName, Format.hostNameOrAddress.orEmpty()),
        Key("host", \.host, Format.hostHeader.orEmpty()),
        Key("ca-file", \.caFile, Format.path().orEmpty()),
        Key("account", \.account, Format.account.orEmpty()),
        Key("access-key", \.accessKey, Format.account.orEmpty()),
        Key("key-file", \.keyFile, Format.keyFile.orEmpty()),
        Key("cipher", \.cipher, Format<Settings.Provider.CipherMode>.choice.optional),
        Key("cipher-key-file", \.cipherKeyFile, Format.keyFile.orEmpty()),
        Key("expiring", \.expiring, Format.truth.optional),
        Key("region", \.region, Format.word(of: Settings.Provider.regions).optional),
        Key("service-nodes", \.serviceNodes, Format.truth.optional),
        Key("query", \.parameters.query, .requestQuery),
        Key("tags", \.parameters.tags, .requestTags),
        Key("app-id", \.parameters.appID, Format.account.orEmpty()),
        Key("client-subnet", \.clientSubnet, Format.clientSubnet.orEmpty()),
        Key("client-subnet-form", \.clientSubnetForm, Format<Settings.Provider.ClientSubnetForm>.choice.optional),
        Key("proxy", \.proxy, Format.proxy.orEmpty()),
        Key("proxy-key-file", \.proxyKeyFile, Format.keyFile.orEmpty()),
        Key("method", \.method, Format<Settings.Provider.Method>.choice.optional),
        Key("trust-ad", \.trustAD, Format.truth.optional),
        Key("budget", \.budgetPerSecond, Format.rate(budgets).optional),
        Key("shadow", \.shadow, Format.number(shares).optional),
        Key("names", \.names, Format.ownName.list(of: "names", 0...maxNames).leavingOut([])),
        Key("names-file", \.namesFile, Format.path().orEmpty()),
        Key("exclusive", \.exclusive, Format.truth.optional),
        Key("views-only", \.viewsOnly, Format.truth.optional),
        Key("quota", \.quota, Format.quota.optional),
        Key("when-used-up", \.whenUsedUp, Format<Settings.Provider.WhenUsedUp>.choice.optional),
        Key("hedge", \.hedge, Format.truth.optional),
        Key("timeout", \.timeout, Format.duration(timeouts).leavingOut(.seconds(3))),
        Key("idle", \.idle, .wholeSeconds(idleTimes)),
        Key(
            "connection-requests", \.connectionRequests,
            Format.integer(connectionRequests, meaning: "on one connection").optional),
    ]
}

extension Settings.Provider.Template {
    /// The bounds of the names per request. No vendor accepts more.
    private static let names = 1...20
    /// The bounds of the lifetime. No vendor accepts a signature with a longer validity.
    private static let lifetimes = 1...24 * 3600
    private static let maxHeaders = 16
    private static let maxSigned = 32
    /// The bounds of the statuses, those of refusals (RFC 9110 section 15.5).
    private static let nameStatuses = 400...499
    private static let maxNameStatuses = 8

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
