// Entries of the cache as one answer that is made piece by piece, since all of them together may be larger than what
// anybody wants to hold in memory. Text ends with a comment that counts the entries, so that a cut answer shows.

package import DNSWire

package struct CacheListing: Sendable {
    package let view: CacheView
    package let scope: QuestionScope
    private let wantsJSON: Bool
    private var count = 0

    package init(_ view: CacheView, _ scope: QuestionScope, wantsJSON: Bool) {
        self.view = view
        self.scope = scope
        self.wantsJSON = wantsJSON
    }

    /// The next piece; empty for no entries.
    package mutating func piece(of entries: [CacheEntryReport]) -> String {
        var text = ""
        for entry in entries {
            if wantsJSON {
                text += (count == 0 ? CacheListing.head : ",") + json(entry).dropLast()
            } else {
                text += entry.text(as: view)
            }
            count += 1
        }
        return text
    }

    /// The last piece. Who asked for one name and got nothing is refused, so that scripts see it.
    package func end() -> String {
        if count == 0, view == .get {
            let type = scope.type.map { " \($0)" } ?? ""
            return Reply.refusal(Refusal("no entry for \(scope.name)\(type)")).rendered(asJSON: wantsJSON)
        }
        if wantsJSON { return (count == 0 ? CacheListing.head : "") + "]}\n" }
        return view == .get ? "" : "; \(counted(count, "entry", "entries"))\n"
    }

    private static let head = "{\"entries\":["
}
