// Everything that can be asked for over the control socket, on one screen: commands with what they are about, names
// and types already read.

package import DNSWire

package enum Command: Equatable, Sendable {
    case status
    /// As Prometheus reads it, or as the request says.
    case stats(asPrometheus: Bool)
    /// Why a question is answered as it is.
    case explain(Name, RecordType)
    case query(QueryTerms)
    /// What changes from second to second, for a screen.
    case top
    /// The lookups that are under way.
    case inflight
    /// Queries as they come, until the client goes; nil: of all names.
    case watch(NamePattern?, showsClients: Bool)
    /// What the flight recorder holds.
    case recorder(showsClients: Bool)
    /// Nil: until the next change.
    case log(LogLevel, seconds: Int?)
    case reload
    /// A part of the cache, in one of three forms.
    case cache(CacheView, QuestionScope)
    case flush(QuestionScope)
    /// 1 to `maxPrefetchNames`.
    case prefetch([Name])
    case httpdns(HTTPDNSSwitch)
    case providers(ProvidersAction)
    case network(NetworkView)
    /// Probes the addresses of a name now, and tells what each probe finds. Makes traffic.
    case verify(Name)
    /// What is known of the addresses of a name, or of all (nil).
    case verdicts(Name?)
    /// Somebody says that an address of a name failed. It is probed, and never believed unseen.
    case report(Name, Address)
    case evidence
    /// The names that have led to an address.
    case whois(Address)
    /// About one command; nil: about all.
    case help(Word?)

    /// A screenful of names; more belong into the settings.
    package static let maxPrefetchNames = 100

    /// The first word of a line.
    package enum Word: String, CaseIterable, Sendable {
        case status, stats, cache, flush, prefetch, httpdns, providers, network, verify, verdicts, report, evidence
        case whois, explain, query, top, inflight, watch, recorder, log, reload, help
        /// Carried out by httpdnsctl itself, also without a daemon.
        case system, doctor

        var isCarriedOutByClient: Bool { self == .system || self == .doctor }
    }

    /// The first word of its line; the second one, too, where not all of them may be asked by everyone.
    package var word: String {
        switch self {
        case .status: Word.status.rawValue
        case .stats: Word.stats.rawValue
        case .cache: Word.cache.rawValue
        case .flush: Word.flush.rawValue
        case .prefetch: Word.prefetch.rawValue
        case .httpdns: Word.httpdns.rawValue
        case .providers(.list): Word.providers.rawValue
        case .providers(.reset): "\(Word.providers) \(ProvidersAction.Verb.reset)"
        case .providers(.test): "\(Word.providers) \(ProvidersAction.Verb.test)"
        case .network: Word.network.rawValue
        case .verify: Word.verify.rawValue
        case .verdicts: Word.verdicts.rawValue
        case .report: Word.report.rawValue
        case .evidence: Word.evidence.rawValue
        case .whois: Word.whois.rawValue
        case .explain: Word.explain.rawValue
        case .query(let terms) where terms.isPastTheCache: "\(Word.query) --no-cache or --provider"
        case .query: Word.query.rawValue
        case .top: Word.top.rawValue
        case .inflight: Word.inflight.rawValue
        case .watch(_, showsClients: true): "\(Word.watch) --clients"
        case .watch: Word.watch.rawValue
        case .recorder(showsClients: true): "\(Word.recorder) dump --clients"
        case .recorder: Word.recorder.rawValue
        case .log: Word.log.rawValue
        case .reload: Word.reload.rawValue
        case .help: Word.help.rawValue
        }
    }

    /// Not for everyone who may open the socket: it changes something, makes traffic, or shows who asks what.
    package var isReserved: Bool {
        switch self {
        case .flush, .prefetch, .httpdns, .providers(.reset), .providers(.test), .verify, .log, .reload: true
        case .query(let terms): terms.isPastTheCache
        case .watch(_, let showsClients), .recorder(let showsClients): showsClients
        case .status, .stats, .cache, .providers(.list), .network, .verdicts, .report, .evidence, .whois, .explain,
            .top, .inflight, .help:
            false
        }
    }

    /// Its answer comes in steps, with up to 30 seconds between them.
    package var isAnsweredInSteps: Bool {
        switch self {
        case .providers(.test), .verify, .report, .query, .watch: true
        case .status, .stats, .cache, .flush, .prefetch, .httpdns, .providers(.list), .providers(.reset), .network,
            .verdicts, .evidence, .whois, .explain, .top, .inflight, .recorder, .log, .reload, .help:
            false
        }
    }
}

/// A question of the operator's own.
package struct QueryTerms: Equatable, Sendable {
    package let name: Name
    package let type: RecordType
    /// Nil: as for a client.
    package let provider: String?
    /// What the cache holds is not looked at.
    package let skipsCache: Bool

    package init(_ name: Name, _ type: RecordType, provider: String? = nil, skipsCache: Bool = false) {
        self.name = name
        self.type = type
        self.provider = provider
        self.skipsCache = skipsCache
    }

    /// It asks an upstream though the cache might have answered.
    var isPastTheCache: Bool { provider != nil || skipsCache }
}

/// As the settings name them.
package enum LogLevel: String, CaseIterable, Codable, Sendable {
    case error, warning, info, debug
}

/// How entries of the cache are shown.
package enum CacheView: String, CaseIterable, Sendable {
    /// One line for each.
    case list = "ls"
    /// Everything about each.
    case get
    /// Their records, one line for each.
    case dump
}

/// What `network` is asked for.
package enum NetworkView: String, CaseIterable, Sendable {
    /// The network in use, and those that are known.
    case current
    /// The changes from one to the next.
    case history
}

/// What `providers` is asked for.
package enum ProvidersAction: Equatable, Sendable {
    case list
    /// Forgets what was measured of one provider, or of all (nil).
    case reset(String?)
    /// Asks this one what it can do. Makes traffic, and answers step by step.
    case test(String)

    enum Verb: String {
        case reset, test
    }
}

extension ProvidersAction.Verb {
    var usage: String {
        switch self {
        case .reset: "providers reset [NAME]"
        case .test: "providers test NAME"
        }
    }
}
