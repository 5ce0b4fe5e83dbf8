// What the doctor says: one line about what it saw, with the remedy beside it.

package struct Finding: Equatable, Sendable {
    package enum Gravity: String, CaseIterable, Sendable {
        /// Names are not resolved, or not by the daemon.
        case fault
        /// Names are resolved, but something will go wrong, or goes slower than it has to.
        case warning
        /// Good to know where something else is wrong; a healthy machine may have it.
        case note
    }

    package let gravity: Gravity
    /// What was looked at: "port 53", "clock".
    package let subject: String
    /// What was seen. May hold words of strangers as they are: whoever shows it makes them harmless.
    package let text: String
    /// What to do, as a command where there is one.
    package let remedy: String

    package init(_ gravity: Gravity, _ subject: Subject, _ text: String, remedy: String) {
        self.gravity = gravity
        self.subject = subject.rawValue
        self.text = text
        self.remedy = remedy
    }

    package var isNote: Bool { gravity == .note }
}

/// Everything that is looked at, in the order of the report.
package enum Subject: String, CaseIterable, Sendable {
    case settings, daemon
    case port = "port 53"
    case resolvConf = "resolv.conf"
    case nsswitch, clock
    case authorities = "CA store"
    case providers, nameservers
    case fragments = "UDP fragments"
    case ipv6 = "IPv6"
    case buffers = "receive buffers"
    case files
    case container
    case rewriters
}
