// Why the helper ends.

struct HelperFailure: Error {
    let text: String

    init(_ text: String) { self.text = text }
}
