// A key, a token or a password. Printing it, or a value that contains it, shows a placeholder.

struct Secret: Equatable, Sendable {
    /// The secret, only for uses of the secret itself: a dialect, a proxy.
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "(secret)" }
    var debugDescription: String { description }
    /// Hides the secret from `dump`.
    var customMirror: Mirror { Mirror(self, children: []) }
}
