// What the doctor says: one line about what it saw, with the remedy beside it.

package struct Finding: Equatable, Sendable {
    package enum Gravity: String, CaseIterable, Sendable {
        /// Names are not resolved, or not by the daemon.
        case fault
        /// Names are resolved, but something will go wrong, or goes slower than it has to.
        case warning
    }

    package let gravity: Gravity
    /// What was looked at: "port 53", "clock".
    package let subject: String
    /// What was seen.
    package let text: String
    /// What to do, as a command where there is one.
    package let remedy: String

    package init(_ gravity: Gravity, _ subject: String, _ text: String, remedy: String) {
        self.gravity = gravity
        self.subject = subject
        self.text = text
        self.remedy = remedy
    }
}
