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

extension Settings.Server {
    /// Each takes a UDP and a TCP socket on every thread.
    private static let maxListen = 64
    /// Judged for every query, one by one.
    private static let maxAllow = 256
    /// More than any machine that runs this has cores.
    private static let maxThreads = 256

    static let keys: [Key<Settings.Server>] = [
        Key("listen", \.listen, Format.listenEndpoint.list(of: "strings \"ADDR:PORT\"", 1...maxListen)),
        Key("threads", \.threads, .integer(0...maxThreads, meaning: "0 = one per core")),
        Key("allow", \.allow, Format.prefix.list(of: "strings \"ADDR/LENGTH\"", 1...maxAllow)),
    ]
}

extension Settings.SystemResolver {
    /// More servers only make the last resort slower; resolv.conf itself stops at three.
    private static let maxServers = 8

    static let keys: [Key<Settings.SystemResolver>] = [
        Key("servers", \.servers, Format.nameserver.list(of: "strings \"ADDR[:PORT]\"", 0...maxServers)),
        Key("resolv-conf", \.resolvConf, .path(maxBytes: maxPathBytes)),
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
        Key("store", \.store, Format.path(maxBytes: maxPathBytes).orEmpty(written: true)),
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

extension Settings.Control {
    /// `sun_path` holds 108 bytes with its final NUL.
    private static let maxSocketPathBytes = 107

    static let keys: [Key<Settings.Control>] = [
        Key("socket", \.socket, Format.path(maxBytes: maxSocketPathBytes).orEmpty(written: true))
    ]
}

extension Settings.Log {
    static let keys: [Key<Settings.Log>] = [Key("level", \.level, .choice)]
}

extension Settings.Rule {
    /// A list of names belongs in a rule; a longer one than this belongs in another tool.
    private static let maxNames = 1000
    /// More than a client tries.
    private static let maxFallbackAddresses = 16

    static let keys: [Key<Settings.Rule>] = [
        Key("match", \.match, Format.ruleName.list(of: "names", 1...maxNames)),
        Key("stale", \.stale, Format.truth.optional),
        Key("stale-negative", \.staleNegative, Format.truth.optional),
        Key("prefetch", \.prefetch, Format.truth.optional),
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

    static let keys: [Key<ProviderDraft>] = [
        Key("name", \.name, Format.providerName.optional),
        Key("dialect", \.dialect, Format<Settings.Provider.Dialect>.choice.optional),
        Key("url", \.url, Format.providerURL.optional),
        Key("addresses", \.addresses, Format.address.list(of: "IP addresses", 0...maxAddresses)),
        Key("sni", \.sni, Format.hostName.orEmpty()),
        Key("verify-name", \.verifyName, Format.hostNameOrAddress.orEmpty()),
        Key("host", \.host, Format.hostHeader.orEmpty()),
        Key("ca-file", \.caFile, Format.path(maxBytes: maxPathBytes).orEmpty()),
        Key("account", \.account, Format.account.orEmpty()),
        Key("key-file", \.keyFile, Format.path(maxBytes: maxPathBytes).orEmpty()),
        Key("method", \.method, Format<Settings.Provider.Method>.choice.optional),
        Key("budget", \.budgetPerSecond, .rate(budgets)),
    ]
}

/// PATH_MAX of Linux, with its final NUL.
private let maxPathBytes = 4095
