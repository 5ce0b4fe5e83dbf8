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
    case help

    /// A screenful of names; more belong into the settings.
    package static let maxPrefetchNames = 100

    /// The first word of a line.
    enum Word: String, CaseIterable {
        case status, stats, cache, flush, prefetch, help
    }

    package var word: String {
        switch self {
        case .status: Word.status.rawValue
        case .stats: Word.stats.rawValue
        case .cache: Word.cache.rawValue
        case .flush: Word.flush.rawValue
        case .prefetch: Word.prefetch.rawValue
        case .help: Word.help.rawValue
        }
    }

    /// Not for everyone who may open the socket.
    package var changesState: Bool {
        switch self {
        case .flush, .prefetch: true
        case .status, .stats, .cache, .help: false
        }
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

extension Command.Word {
    var usage: String {
        switch self {
        case .status, .stats, .help: "--json"
        case .cache: "cache ls [NAME], cache get NAME [TYPE], cache dump"
        case .flush: "flush [--tree] [--type TYPE] NAME, flush --all"
        case .prefetch: "prefetch NAME..."
        }
    }
}
