// All commands of the control socket with their arguments. Names and types are already parsed.

package import DNSWire

package enum Command: Equatable, Sendable {
    case status
    /// The counters, rendered for Prometheus, or as text or JSON as the request says.
    case stats(asPrometheus: Bool)
    /// Explains how the daemon answers a question, and why.
    /// - Parameter client: the client whose view counts; nil: this machine.
    case explain(Name, RecordType, client: Address?)
    case query(QueryTerms)
    /// The values that change every second, for a full-screen display.
    case top
    /// The lookups in flight.
    case inflight
    /// The queries as they arrive, until the client disconnects. Nil: for all names.
    case watch(NamePattern?, showsClients: Bool)
    /// The events that the flight recorder holds.
    case recorder(showsClients: Bool)
    /// Sets the log level for a time. Nil: it stays until the next change.
    case log(LogLevel, seconds: Int?)
    case reload
    /// The cache entries, in one of three forms.
    case cache(CacheView, QuestionScope)
    /// Removes cache entries; with `wholeFleet`, on all members of the fleet.
    case flush(QuestionScope, wholeFleet: Bool = false)
    /// Takes 1 to `maxPrefetchNames` names.
    case prefetch([Name])
    case httpdns(HTTPDNSSwitch)
    case rule(RuleAction)
    case providers(ProvidersAction)
    case network(NetworkView)
    /// The fleet: this member and the others, which Redis lists.
    case fleet
    /// Probes the addresses of a name now, and reports each result. Causes network traffic.
    case verify(Name)
    /// The known verdicts for the addresses of a name. Nil: of all names.
    case verdicts(Name?)
    /// A program reports that an address of a name failed. The daemon probes the address before it acts on the report.
    case report(Name, Address)
    case evidence
    /// What the replies of each provider were worth.
    case audit
    /// The names that have resolved to an address.
    case whois(Address)
    /// Help for one command. Nil: for all commands.
    case help(Word?)

    /// Maximum number of names: one screen; longer lists belong in the settings.
    package static let maxPrefetchNames = 100

    /// The first word of a request line.
    package enum Word: String, CaseIterable, Sendable {
        case status, stats, cache, flush, prefetch, httpdns, rule, providers, network, fleet, verify, verdicts, report,
            evidence, audit
        case whois, explain, query, top, inflight, watch, recorder, log, reload, help
        /// Commands that httpdnsctl runs itself, with or without a daemon.
        case system, doctor, setup
        case reportBug = "report-bug"

        var isCarriedOutByClient: Bool { [.system, .doctor, .setup, .reportBug].contains(self) }
    }

    /// The words of a command that only root and the daemon's own user and group may run: it changes state, causes
    /// traffic, or shows clients' queries. Nil for other commands.
    package var reservedWords: String? {
        switch self {
        case .flush: "flush"
        case .prefetch: "prefetch"
        case .httpdns: "httpdns"
        case .rule(let action): action == .list ? nil : "rule \(action.verb)"
        case .providers(.reset): "providers reset"
        case .providers(.test): "providers test"
        case .network(.names(writesRules: true)): "network names --write"
        case .verify: "verify"
        case .query(let terms): terms.isPastTheCache ? "query --no-cache or --provider" : nil
        case .watch(_, let showsClients): showsClients ? "watch --clients" : nil
        case .recorder(let showsClients): showsClients ? "recorder dump --clients" : nil
        case .log: "log"
        case .reload: "reload"
        case .status, .stats, .cache, .providers(.list), .network, .fleet, .verdicts, .report, .evidence, .audit,
            .whois, .explain, .top, .inflight, .help:
            nil
        }
    }

    /// Whether the answer comes in steps, with up to 30 seconds between them.
    package var isAnsweredInSteps: Bool {
        switch self {
        case .providers(.test), .verify, .report, .query, .watch: true
        case .status, .stats, .cache, .flush, .prefetch, .httpdns, .rule, .providers(.list), .providers(.reset),
            .network, .fleet,
            .verdicts, .evidence, .audit, .whois, .explain, .top, .inflight, .recorder, .log, .reload, .help:
            false
        }
    }
}

/// The arguments of `query`.
package struct QueryTerms: Equatable, Sendable {
    package let name: Name
    package let type: RecordType
    /// The provider to ask; nil: resolve as for a client.
    package let provider: String?
    /// Whether the cache is bypassed.
    package let skipsCache: Bool

    package init(_ name: Name, _ type: RecordType, provider: String? = nil, skipsCache: Bool = false) {
        self.name = name
        self.type = type
        self.provider = provider
        self.skipsCache = skipsCache
    }

    /// Whether the query goes to an upstream even if the cache holds an answer.
    var isPastTheCache: Bool { provider != nil || skipsCache }
}

/// Log levels, by their names in the settings.
package enum LogLevel: String, CaseIterable, Codable, Sendable {
    case error, warning, info, debug
}

/// The forms in which cache entries are shown.
package enum CacheView: String, CaseIterable, Sendable {
    /// The list with one line per entry.
    case list = "ls"
    /// All facts of each entry.
    case get
    /// The dump with one line per record.
    case dump
}

/// The forms of `network`.
package enum NetworkView: Equatable, Sendable {
    /// The network in use, and the other known networks.
    case current
    /// The network changes.
    case history
    /// The names that only the network has.
    ///
    /// - Parameter writesRules: adds rules that send them to the system resolver.
    case names(writesRules: Bool)

    enum Verb: String {
        case history, names
    }
}

/// The actions of `providers`.
package enum ProvidersAction: Equatable, Sendable {
    case list
    /// Resets the measurements of one provider. Nil: of all providers.
    case reset(String?)
    /// Tests the features of this provider. Causes network traffic; the answer comes in steps.
    case test(String)

    enum Verb: String {
        case reset, test
    }
}
