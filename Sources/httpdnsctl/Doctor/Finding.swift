// One line of the doctor's report, with its remedy.

struct Finding: Equatable, Sendable {
    enum Gravity: String, CaseIterable, Sendable {
        /// Names do not resolve, or do not resolve through the daemon.
        case fault
        /// Names resolve, but slower than necessary or with a failure ahead.
        case warning
        /// Context for other findings; a healthy machine may have it.
        case note

        var title: LocalizedText {
            switch self {
            case .fault: "fault"
            case .warning: "warning"
            case .note: "note"
            }
        }
    }

    let gravity: Gravity
    /// The subject, such as "port 53" or "clock".
    let subject: Subject
    /// The observation. May contain untrusted text; the caller escapes it for display.
    let text: LocalizedText
    /// The remedy, as a command if there is one.
    let remedy: LocalizedText

    init(_ gravity: Gravity, _ subject: Subject, _ text: LocalizedText, remedy: LocalizedText) {
        self.gravity = gravity
        self.subject = subject
        self.text = text
        self.remedy = remedy
    }

    var isNote: Bool { gravity == .note }
}

/// All subjects, in the order of the report.
enum Subject: String, CaseIterable, Sendable {
    case settings, daemon
    case port = "port 53"
    case resolvConf = "resolv.conf"
    case nsswitch, clock
    case authorities = "CA store"
    case keyExchange = "key exchange"
    case providers, nameservers, fleet
    case fragments = "UDP fragments"
    case ipv6 = "IPv6"
    case buffers = "receive buffers"
    case files
    case container
    case rewriters

    /// The subject on the terminal; in English the same as in JSON.
    var title: LocalizedText {
        switch self {
        case .settings: "settings"
        case .daemon: "daemon"
        case .port: "port 53"
        case .resolvConf, .nsswitch, .ipv6: LocalizedText(verbatim: rawValue)
        case .clock: "clock"
        case .authorities: "CA store"
        case .keyExchange: "key exchange"
        case .providers: "providers"
        case .nameservers: "nameservers"
        case .fleet: "fleet"
        case .fragments: "UDP fragments"
        case .buffers: "receive buffers"
        case .files: "files"
        case .container: "container"
        case .rewriters: "rewriters"
        }
    }
}
