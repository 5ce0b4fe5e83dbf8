// Why the daemon does not carry out a command.

/// The text is safe to print.
package struct Refusal: Error, Equatable, Sendable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }

    func text(asJSON: Bool) -> String { asJSON ? json(["error": reason]) : "error: \(reason)\n" }
}
