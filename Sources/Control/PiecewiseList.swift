// A list that is rendered in pieces, because the whole may be too large for memory. Text lines, or one line of JSON
// with all entries in one array.

struct PiecewiseList: Sendable {
    let wantsJSON: Bool
    private let head: String
    private(set) var count = 0

    /// - Parameter key: the name of the array.
    init(_ key: String, wantsJSON: Bool) {
        head = "{\"\(key)\":["
        self.wantsJSON = wantsJSON
    }

    /// Returns the next piece; empty if there are no entries.
    mutating func piece<Entry: Encodable>(of entries: [Entry], text: (Entry) -> String) -> String {
        var piece = ""
        for entry in entries {
            piece += wantsJSON ? (count == 0 ? head : ",") + json(entry).dropLast() : text(entry)
            count += 1
        }
        return piece
    }

    /// Returns the last piece.
    ///
    /// - Parameter text: the closing line, which makes truncation visible.
    func end(text: String) -> String {
        wantsJSON ? (count == 0 ? head : "") + "]}\n" : text
    }

    /// Returns the only piece of an empty list, as an error, so that scripts can detect it.
    func refusal(_ reason: String) -> String { Reply.refusal(Refusal(reason)).rendered(asJSON: wantsJSON) }
}
