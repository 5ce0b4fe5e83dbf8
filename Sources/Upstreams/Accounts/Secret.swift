// A key, a token or a password. Printing it, or a value that contains it, shows a placeholder.

package struct Secret: Equatable, Sendable {
    /// The secret, only for uses of the secret itself: a dialect, a proxy.
    package let text: String

    package init(_ text: String) {
        self.text = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    /// Hides the secret from `dump`.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
