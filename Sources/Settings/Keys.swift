// Every key of the settings file: its name, its place in the values, its format with its bounds. The one list from
// which the file is read, unknown keys are judged, and `--print-effective` is written.

import DNSWire

struct Key<Section>: Sendable {
    let name: String
    let read: @Sendable (TOMLNode, inout Section) throws(Misfit) -> Void
    /// Nil: the key is left out.
    let write: @Sendable (Section) -> String?

    init<Value>(_ name: String, _ path: any WritableKeyPath<Section, Value> & Sendable, _ format: Format<Value>) {
        self.name = name
        read = { node, section throws(Misfit) in section[keyPath: path] = try format.read(node) }
        write = { format.write($0[keyPath: path]) }
    }
}

extension Settings {
    /// Those above every table.
    static let keys: [Key<Settings>] = [
        Key("only-listed", \.onlyListed, .truth),
        Key("direct-only", \.directOnly, .truth),
    ]
}

extension Settings.Server {
    /// Each takes a UDP and a TCP socket on every thread.
    private static let maxListen = 64
    /// Judged for every query, one by one.
    private static let maxAllow = 256
    /// No machine answers more.
    private static let rates = 1...1_000_000
    /// More than any machine that runs this has cores.
    private static let maxThreads = 256

    static let keys: [Key<Settings.Server>] = [
        Key("listen", \.listen, Format.listenEndpoint.list(of: "strings \"ADDR:PORT\"", 1...maxListen)),
        Key("threads", \.threads, .integer(0...maxThreads, meaning: "0 = one per core")),
        Key("allow", \.allow, Format.prefix.list(of: "strings \"ADDR/LENGTH\"", 1...maxAllow)),
        Key("client-rate", \.clientRate, Format.rate(rates).orOff),
        Key("prefix-rate", \.prefixRate, Format.rate(rates).orOff),
        Key("user", \.user, Format.userName.orEmpty(written: true)),
        Key("filter-aaaa", \.filterAAAA, .choice),
        Key("dns64", \.dns64, .choice),
    ]
}

extension Settings.SystemResolver {
    /// More servers only make the last resort slower; resolv.conf itself stops at three.
    private static let maxServers = 8
    /// Shorter than the time in which every client gets some answer.
    private static let patiences = Duration.zero...Duration.seconds(4)

    static let keys: [Key<Settings.SystemResolver>] = [
        Key("servers", \.servers, Format.nameserver.list(of: "strings \"ADDR[:PORT]\"", 0...maxServers)),
        Key("resolv-conf", \.resolvConf, .path()),
        Key("stands-in", \.standsIn, .choice),
        Key("patience", \.patience, .duration(patiences)),
    ]
}

extension Settings.Cache {
    /// Below, no working set fits; above, nobody has asked.
    private static let sizes = 1 << 20...64 << 30
    /// RFC 8767 section 4 takes 7 days as the longest sensible TTL.
    fileprivate static let ttls = Duration.zero...Duration.seconds(7 * 24 * 3600)

    static let keys: [Key<Settings.Cache>] = [
        Key("size", \.sizeBytes, .size(sizes)),
        Key("min-ttl", \.minTTL, .duration(ttls)),
        Key("max-ttl", \.maxTTL, .duration(ttls)),
        Key("negative-max-ttl", \.negativeMaxTTL, .duration(ttls)),
        Key("store", \.store, Format.path().orEmpty(written: true)),
    ]
}

extension Settings.Prefetch {
    /// All of them are asked at once when the daemon starts.
    private static let maxNames = 1000

    static let keys: [Key<Settings.Prefetch>] = [
        Key("enabled", \.enabled, .truth),
        Key("names", \.names, Format.name.list(of: "names", 0...maxNames)),
    ]
}

extension Settings.Stale {
    /// RFC 8767 section 5 advises 1 to 3 days; what nobody could refresh for a month nobody serves.
    private static let ages = Duration.zero...Duration.seconds(30 * 24 * 3600)
    /// RFC 8767 section 4 demands more than 0.
    private static let ttls = Duration.seconds(1)...Duration.seconds(3600)
    /// Shorter than the time in which every client gets some answer.
    private static let timeouts = Duration.zero...Duration.seconds(4)
    /// RFC 8767 section 5 advises 30 s.
    private static let pauses = Duration.seconds(1)...Duration.seconds(3600)

    static let keys: [Key<Settings.Stale>] = [
        Key("max-age", \.maxAge, .duration(ages)),
        Key("answer-ttl", \.answerTTL, .wholeSeconds(ttls)),
        Key("client-timeout", \.clientTimeout, .duration(timeouts)),
        Key("recheck", \.recheck, .duration(pauses)),
    ]
}

extension Settings.Probe {
    /// A probe takes a connection to each.
    fileprivate static let portCounts = 1...8
    /// Less is no time for a handshake across an ocean; who takes longer is no help to a client either.
    package static let timeouts = Duration.milliseconds(100)...Duration.seconds(10)

    static let keys: [Key<Settings.Probe>] = [
        Key("enabled", \.enabled, .truth),
        Key("ports", \.ports, Format.port.list(of: "ports", portCounts)),
        Key("timeout", \.timeout, .duration(timeouts)),
        Key("ca-file", \.caFile, Format.path().orEmpty(written: true)),
        Key("http", \.http, .truth),
    ]
}

extension Settings.Network {
    static let keys: [Key<Settings.Network>] = [
        Key("watch", \.watch, .truth)
    ]
}

extension Settings.Control {
    /// `sun_path` holds 108 bytes with its final NUL.
    private static let maxSocketPathBytes = 107

    static let keys: [Key<Settings.Control>] = [
        Key("socket", \.socket, Format.path(maxBytes: maxSocketPathBytes).orEmpty(written: true)),
        Key("metrics-listen", \.metricsListen, Format.listenEndpoint.orEmpty(written: true)),
    ]
}

extension Settings.Log {
    static let keys: [Key<Settings.Log>] = [
        Key("level", \.level, .choice),
        Key("format", \.format, .choice),
        Key("queries", \.queries, .truth),
        Key("clients", \.clients, .truth),
        Key("recorder-directory", \.recorderDirectory, Format.path().orEmpty(written: true)),
    ]
}

extension Settings.Rule {
    /// A list of names belongs in a rule; a longer one than this belongs in another tool.
    private static let maxNames = 1000
    /// More than a client tries.
    private static let maxFallbackAddresses = 16

    static let keys: [Key<Settings.Rule>] = [
        Key("match", \.match, Format.ruleName.list(of: "names", 1...maxNames)),
        Key("resolver", \.resolver, Format.ruleResolver.optional),
        Key("stands-in", \.standsIn, Format<Settings.SystemResolver.StandsIn>.choice.optional),
        Key("allow-private", \.allowPrivate, Format.truth.optional),
        Key("stale", \.stale, Format.truth.optional),
        Key("stale-negative", \.staleNegative, Format.truth.optional),
        Key("prefetch", \.prefetch, Format.truth.optional),
        Key("probe", \.probe, Format.truth.optional),
        Key(
            "probe-ports", \.probePorts,
            Format.port.list(of: "ports", Settings.Probe.portCounts).leavingOut([])),
        Key("min-ttl", \.minTTL, Format.duration(Settings.Cache.ttls).optional),
        Key("max-ttl", \.maxTTL, Format.duration(Settings.Cache.ttls).optional),
        Key(
            "fallback-addresses", \.fallbackAddresses,
            Format.address.list(of: "IP addresses", 0...maxFallbackAddresses).leavingOut([])),
    ]
}

extension ProviderDraft {
    /// A provider has a handful; each costs connections and takes its turn when others fail.
    private static let maxAddresses = 16
    /// At least one, or it would be no provider; above, no public service puts up with it.
    private static let budgets = 1...10_000
    /// Less would compare nothing in a day.
    private static let shares = 0.001...1.0
    /// Vendors close unused connections after seconds to minutes.
    private static let idleTimes = Duration.seconds(1)...Duration.seconds(600)
    /// Above, a cap is none.
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
        Key("client-subnet", \.clientSubnet, Format.clientSubnet.orEmpty()),
        Key("proxy", \.proxy, Format.proxy.orEmpty()),
        Key("proxy-key-file", \.proxyKeyFile, Format.keyFile.orEmpty()),
        Key("method", \.method, Format<Settings.Provider.Method>.choice.optional),
        Key("budget", \.budgetPerSecond, Format.rate(budgets).optional),
        Key("shadow", \.shadow, Format.number(shares).optional),
        Key("idle", \.idle, .wholeSeconds(idleTimes)),
        Key(
            "connection-requests", \.connectionRequests,
            Format.integer(connectionRequests, meaning: "on one connection").optional),
    ]
}

extension Settings.Provider.Template {
    /// More than any vendor takes.
    private static let names = 1...20
    /// No vendor takes a signature that is valid for longer.
    private static let lifetimes = 1...24 * 3600
    private static let maxHeaders = 16
    private static let maxSigned = 32

    static let keys: [Key<Settings.Provider.Template>] = [
        Key("query", \.query, .template(minBytes: 1)),
        Key("headers", \.headers, Format.template(minBytes: 1).list(of: "strings", 0...maxHeaders).leavingOut([])),
        Key("max-names", \.maxNames, .integer(names, meaning: "in one request")),
        Key("lifetime", \.lifetimeSeconds, .seconds(lifetimes)),
        Key("digest", \.digest, .choice),
        Key("signed", \.signed, Format.template().list(of: "strings", 0...maxSigned).leavingOut([])),
        Key("sort", \.sorts, .truth),
        Key("join", \.joiner, Format.template().leavingOut("")),
        Key("v4", \.v4, Format.template().leavingOut("")),
        Key("v6", \.v6, Format.template().leavingOut("")),
        Key("ttl", \.ttl, Format.template().leavingOut("")),
        Key("success", \.success, Format.template().leavingOut("")),
    ]
}
