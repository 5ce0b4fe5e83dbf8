// A list that is made piece by piece, since all of it together may be larger than what anybody wants to hold in memory:
// lines for people, or one line of JSON with everything in one array.

struct PiecewiseList: Sendable {
    let wantsJSON: Bool
    private let head: String
    private(set) var count = 0

    /// - Parameter key: of the array.
    init(_ key: String, wantsJSON: Bool) {
        head = "{\"\(key)\":["
        self.wantsJSON = wantsJSON
    }

    /// The next piece; empty for no entries.
    mutating func piece<Entry: Encodable>(of entries: [Entry], text: (Entry) -> String) -> String {
        var piece = ""
        for entry in entries {
            piece += wantsJSON ? (count == 0 ? head : ",") + json(entry).dropLast() : text(entry)
            count += 1
        }
        return piece
    }

    /// The last piece.
    ///
    /// - Parameter text: what ends the lines, so that a cut list shows.
    func end(text: String) -> String {
        wantsJSON ? (count == 0 ? head : "") + "]}\n" : text
    }

    /// The only piece of a list with nothing in it, for those who asked for something: so that scripts see it.
    func refusal(_ reason: String) -> String { Reply.refusal(Refusal(reason)).rendered(asJSON: wantsJSON) }
}
