// Everything that can be asked for over the control socket, on one screen: commands with what they are about, names
// and types already read.

package import DNSWire

package enum Command: Equatable, Sendable {
    case status
    case stats
    /// A part of the cache, in one of three forms.
    case cache(CacheView, QuestionScope)
    case flush(QuestionScope)
    /// 1 to `maxPrefetchNames`.
    case prefetch([Name])
    case httpdns(HTTPDNSSwitch)
    case providers(ProvidersAction)
    case help

    /// A screenful of names; more belong into the settings.
    package static let maxPrefetchNames = 100

    /// The first word of a line.
    enum Word: String, CaseIterable {
        case status, stats, cache, flush, prefetch, httpdns, providers, help
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
        case .help: Word.help.rawValue
        }
    }

    /// Not for everyone who may open the socket.
    package var changesState: Bool {
        switch self {
        case .flush, .prefetch, .httpdns, .providers(.reset), .providers(.test): true
        case .status, .stats, .cache, .providers(.list), .help: false
        }
    }

    /// Its answer comes in steps, with up to 30 seconds between them.
    package var isAnsweredInSteps: Bool {
        if case .providers(.test) = self { true } else { false }
    }
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

extension Command.Word {
    var usage: String {
        switch self {
        case .status, .stats, .help: "--json"
        case .cache: "cache ls [NAME], cache get NAME [TYPE], cache dump"
        case .flush: "flush [--tree] [--type TYPE] NAME, flush --all"
        case .prefetch: "prefetch NAME..."
        case .httpdns: "\(HTTPDNSSwitch.Verb.off.usage), \(HTTPDNSSwitch.Verb.on.usage)"
        case .providers: "providers, \(ProvidersAction.Verb.reset.usage), \(ProvidersAction.Verb.test.usage)"
        }
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
