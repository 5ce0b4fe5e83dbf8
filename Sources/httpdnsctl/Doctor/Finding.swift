// One line of the doctor's report, with its remedy.

struct Finding: Equatable, Sendable {
    enum Gravity: String, CaseIterable, Sendable {
        /// Names do not resolve, or do not resolve through the daemon.
        case fault
        /// Names resolve, but slower than necessary or with a failure ahead.
        case warning
        /// Context for other findings; a healthy machine may have it.
        case note
    }

    let gravity: Gravity
    /// The subject, such as "port 53" or "clock".
    let subject: String
    /// The observation. May contain untrusted text; the caller escapes it for display.
    let text: String
    /// The remedy, as a command if there is one.
    let remedy: String

    init(_ gravity: Gravity, _ subject: Subject, _ text: String, remedy: String) {
        self.gravity = gravity
        self.subject = subject.rawValue
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
}
