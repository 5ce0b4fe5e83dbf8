// All keys of the settings file: name, field, format and bounds. The parser, the check for unknown keys and
// `--print-effective` use this list.

package import DNSWire

struct Key<Section>: Sendable {
    let name: String
    let read: @Sendable (TOMLNode, inout Section) throws(Misfit) -> Void
    /// Returns the text of the value; nil: the key is omitted.
    let write: @Sendable (Section) -> String?
    /// Whether `Settings.redacted` removes the key's value or a part of it.
    let mayBeSecret: Bool
    let allowed: String
    let valueSchema: @Sendable () -> ValueSchema

    init<Value>(_ name: String, _ path: any WritableKeyPath<Section, Value> & Sendable, _ format: Format<Value>) {
        self.init(name, get: { $0[keyPath: path] }, set: { $0[keyPath: path] = $1 }, format)
    }

    init<Value>(
        _ name: String, get: @escaping @Sendable (Section) -> Value,
        set: @escaping @Sendable (inout Section, Value) -> Void, _ format: Format<Value>
    ) {
        self.name = name
        read = { node, section throws(Misfit) in set(&section, try format.read(node)) }
        write = { format.write(get($0)) }
        mayBeSecret = if case .none = format.secrecy { false } else { true }
        (allowed, valueSchema) = (format.allowed, format.schema)
    }
}

/// Missing or conflicting keys of a table, with the key concerned, or nil for the whole table.
typealias Contradiction = (key: String?, text: String)

/// A table of the settings file.
protocol KeyedTable: Sendable {
    static var keys: [Key<Self>] { get }
    /// The keys that the table must have, with values that are not empty.
    static var requiredKeys: [String] { get }
}

extension KeyedTable {
    static var requiredKeys: [String] { [] }
}

/// A table of an array of tables, whose keys are checked together after all are read.
protocol KeyedElement: KeyedTable {
    /// The value before its keys are read; required keys have no valid value.
    static var empty: Self { get }
    /// The keys that every element must have, each with an example in TOML.
    static var required: KeyValuePairs<String, String> { get }
    /// Returns the contradictions between the keys, without those that are missing in every case.
    ///
    /// - Parameter given: the keys of the table with a value that is not empty.
    func contradictions(_ given: Set<String>) -> [Contradiction]
    /// Returns the valid value; nil if a required key is missing, which is also a contradiction.
    func completed(_ given: Set<String>) -> Self?
}

extension KeyedElement {
    static var requiredKeys: [String] { required.map(\.key) }
}

extension Settings {
    /// Maximum number of local zones. Each is compared with every name that is not in the cache.
    private static let maxLocalZones = 16
    /// Maximum number of lease files. A machine has a DHCP server or two.
    private static let maxLeaseFiles = 4

    /// Keys above the first table.
    static let keys: [Key<Settings>] = [
        Key("only-listed", \.onlyListed, .truth),
        Key("direct-only", \.directOnly, .truth),
        Key("local-zone", \.localZones, Format.name.oneOrMore(of: "names", upTo: maxLocalZones)),
        Key("hosts-directory", \.hostsDirectory, Format.path().orEmpty(written: true)),
        Key("lease-files", \.leaseFiles, Format.path().oneOrMore(of: "absolute paths", upTo: maxLeaseFiles)),
        Key("blocked-answer", \.blockedAnswer, .choice),
    ]
}

extension Settings.Server: KeyedTable {
    /// Maximum number of networks, which are checked one by one for every query.
    private static let maxAllow = 256
    /// The bounds of rates. The upper bound exceeds the query rate of any machine.
    private static let rates = 1...1_000_000
    /// Maximum number of threads: more cores than any target machine has.
    private static let maxThreads = 256

    static let keys: [Key<Settings.Server>] = [
        Key("listen", \.listen, .listenPlaces),
        Key("threads", \.threads, .integer(0...maxThreads, meaning: "0 = one per core")),
        Key("allow", \.allow, Format.prefix.list(of: "strings \"ADDR/LENGTH\"", 1...maxAllow)),
        Key("client-rate", \.clientRate, Format.rate(rates).orOff),
        Key("prefix-rate", \.prefixRate, Format.rate(rates).orOff),
        Key("user", \.user, Format.userName.orEmpty(written: true)),
        Key("filter-aaaa", \.filterAAAA, .choice),
        Key("dns64", \.dns64, .choice),
    ]
}

extension Settings.SystemResolver: KeyedTable {
    /// Maximum number of servers. More only delay the last resort; glibc itself stops at three.
    private static let maxServers = 8
    /// The bounds of `patience`, below the time within which every client gets an answer.
    private static let patiences = Duration.zero...Duration.seconds(4)

    static let keys: [Key<Settings.SystemResolver>] = [
        Key("servers", \.servers, Format.nameserver.list(of: "strings \"ADDR[:PORT]\"", 0...maxServers)),
        Key("resolv-conf", \.resolvConf, .path()),
        Key("stands-in", \.standsIn, .choice),
        Key("order", \.order, .choice),
        Key("patience", \.patience, .duration(patiences)),
        Key("compare", \.comparison, .choice),
    ]
}

extension Settings.Cache: KeyedTable {
    /// The bounds of the size. Below the minimum no working set fits; the maximum exceeds any known demand.
    private static let sizes = 1 << 20...64 << 30
    /// The bounds of TTLs. RFC 8767 section 4 gives 7 days as the longest sensible TTL.
    static let ttls = Duration.zero...Duration.seconds(7 * 24 * 3600)

    static let keys: [Key<Settings.Cache>] = [
        Key("size", \.sizeBytes, .size(sizes)),
        Key("min-ttl", \.minTTL, .duration(ttls)),
        Key("max-ttl", \.maxTTL, .duration(ttls)),
        Key("negative-max-ttl", \.negativeMaxTTL, .duration(ttls)),
        Key("store", \.store, Format.path().orEmpty(written: true)),
    ]
}

extension Settings.Prefetch: KeyedTable {
    /// Maximum number of names. The daemon looks all of them up at the start.
    private static let maxNames = 1000

    static let keys: [Key<Settings.Prefetch>] = [
        Key("enabled", \.enabled, .truth),
        Key("names", \.names, Format.name.list(of: "names", 0...maxNames)),
        Key("keep", \.keep, Format.name.list(of: "names", 0...maxNames)),
    ]
}

extension Settings.Stale: KeyedTable {
    /// The bounds of `max-age`. RFC 8767 section 5 advises 1 to 3 days. An answer that could not be refreshed for a
    /// month is not served.
    private static let ages = Duration.zero...Duration.seconds(30 * 24 * 3600)
    /// The bounds of the TTL of expired answers. RFC 8767 section 4 requires more than 0.
    private static let ttls = Duration.seconds(1)...Duration.seconds(3600)
    /// The bounds of `client-timeout`, below the time within which every client gets an answer.
    private static let timeouts = Duration.zero...Duration.seconds(4)
    /// The bounds of `recheck`. RFC 8767 section 5 advises 30 s.
    private static let pauses = Duration.seconds(1)...Duration.seconds(3600)
    /// The bounds of `last-known-good`. A deleted name must not be given for longer than an hour.
    private static let doubts = Duration.zero...Duration.seconds(3600)

    static let keys: [Key<Settings.Stale>] = [
        Key("max-age", \.maxAge, .duration(ages)),
        Key("answer-ttl", \.answerTTL, .wholeSeconds(ttls)),
        Key("client-timeout", \.clientTimeout, .duration(timeouts)),
        Key("recheck", \.recheck, .duration(pauses)),
        Key("last-known-good", \.lastKnownGood, .duration(doubts)),
    ]
}

extension Settings.Probe: KeyedTable {
    /// The bounds of the number of ports. A probe opens a connection to each port.
    static let portCounts = 1...8
    /// The bounds of the timeout. The minimum allows a handshake across an ocean; a host that exceeds the maximum is no
    /// use to clients.
    package static let timeouts = Duration.milliseconds(100)...Duration.seconds(10)

    static let keys: [Key<Settings.Probe>] = [
        Key("enabled", \.enabled, .truth),
        Key("ports", \.ports, Format.port.list(of: "ports", portCounts)),
        Key("timeout", \.timeout, .duration(timeouts)),
        Key("ca-file", \.caFile, Format.path().orEmpty(written: true)),
        Key("http", \.http, .truth),
    ]
}

extension Settings.Network: KeyedTable {
    static let keys: [Key<Settings.Network>] = [
        Key("watch", \.watch, .truth)
    ]
}

extension Settings.Control: KeyedTable {
    /// Maximum size of a socket's path: `sun_path` holds 108 bytes with its final NUL.
    static let maxSocketPathBytes = 107

    static let keys: [Key<Settings.Control>] = [
        Key("socket", \.socket, Format.path(maxBytes: maxSocketPathBytes).orEmpty(written: true)),
        Key("metrics-listen", \.metricsListen, Format.listenEndpoint.orEmpty(written: true)),
        Key("nftset-socket", \.nftsetSocket, .path(maxBytes: maxSocketPathBytes)),
    ]
}

extension Settings.Log: KeyedTable {
    static let keys: [Key<Settings.Log>] = [
        Key("level", \.level, .choice),
        Key("format", \.format, .choice),
        Key("queries", \.queries, .truth),
        Key("clients", \.clients, .truth),
        Key("recorder", \.recorder, .choice),
        Key("recorder-directory", \.recorderDirectory, Format.path().orEmpty(written: true)),
    ]
}

extension Settings.Rule: KeyedTable {
    /// Maximum number of names. Longer lists belong in a file.
    private static let maxNames = 1000
    /// Maximum number of files. Each is searched for every name that is not in the cache.
    private static let maxFiles = 16

    /// Keys that only say when the rule applies.
    static let conditions: Set<String> = ["match", "match-file", "view"]

    static let keys =
        keysBeforeTerms + RuleTerm.rows.map { Key($0) } + keysAfterTerms + RuleTerm.laterRows.map { Key($0) }

    private static let keysBeforeTerms: [Key<Settings.Rule>] = [
        Key("match", \.match, Format.ruleName.list(of: "names", 1...maxNames).leavingOut([])),
        Key("match-file", \.matchFiles, Format.path().list(of: "absolute paths", 1...maxFiles).leavingOut([])),
        Key("resolver", \.resolver, Format.ruleResolver.optional),
        Key("query", \.parameters.query, .requestQuery),
        Key("tags", \.parameters.tags, .requestTags),
        Key("app-id", \.parameters.appID, Format.account.orEmpty()),
    ]

    private static let keysAfterTerms: [Key<Settings.Rule>] = [
        Key("answer", \.answer, Format.ownAnswer.optional),
        Key("extended-error", \.extendedError, Format<Settings.Rule.BlockingError>.choice.optional),
        Key("cname", \.cname, Format.name.optional),
        Key("txt", \.txt, Format.recordText.list(of: "strings", recordCounts).leavingOut([])),
        Key(
            "srv", \.srv,
            Format.serviceLocation.list(of: "strings \"PRIORITY WEIGHT PORT TARGET\"", recordCounts).leavingOut([])),
        Key("view", \.view, Format.plainName.optional),
    ]
}
