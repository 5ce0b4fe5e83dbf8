// A key, a token or a password: for use, never for show. Whoever prints it, or what holds it, prints that it is one.

struct Secret: Equatable, Sendable {
    /// Only for what needs the secret itself: a dialect, a proxy.
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "(secret)" }
    var debugDescription: String { description }
    /// What `dump` goes through.
    var customMirror: Mirror { Mirror(self, children: []) }
}
