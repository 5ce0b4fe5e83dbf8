// A list that is rendered page by page, because the whole may be too large for memory. Text lines, or one line of JSON
// with all entries in one array.

/// One command's answer in pages.
package protocol Listing: Sendable {
    associatedtype Entry
    /// Whether further entries would not be shown.
    var isFull: Bool { get }
    /// Returns the next page; empty if there are no entries.
    mutating func page(of entries: [Entry]) -> String
    /// Returns the last page, after all entries.
    func end() -> String
}

extension Listing {
    package var isFull: Bool { false }
}

struct PagedListing: Sendable {
    let wantsJSON: Bool
    private let head: String
    private(set) var count = 0

    /// - Parameter key: the name of the array.
    init(_ key: String, wantsJSON: Bool) {
        head = "{\"\(key)\":["
        self.wantsJSON = wantsJSON
    }

    /// Returns the next page; empty if there are no entries.
    mutating func page<Entry: Encodable>(of entries: [Entry], text: (Entry) -> String) -> String {
        var page = ""
        for entry in entries {
            page += wantsJSON ? (count == 0 ? head : ",") + json(entry).dropLast() : text(entry)
            count += 1
        }
        return page
    }

    /// Returns the last page.
    ///
    /// - Parameters:
    ///   - text: the closing line, which makes truncation visible.
    ///   - member: a member of the JSON object after the array, if any.
    func end(text: String, member: String? = nil) -> String {
        wantsJSON ? (count == 0 ? head : "") + "]\(member.map { ",\($0)" } ?? "")}\n" : text
    }

    /// Returns the only page of an empty list, as an error, so that scripts can detect it.
    func refusal(_ reason: String) -> String { Refusal(reason).text(asJSON: wantsJSON) }
}
