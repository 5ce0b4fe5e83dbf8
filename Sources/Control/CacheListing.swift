// Entries of the cache as one answer that is made piece by piece. Text ends with a comment that counts the entries, so
// that a cut answer shows.

package import DNSWire

package struct CacheListing: Sendable {
    package let view: CacheView
    package let scope: QuestionScope
    private var list: PiecewiseList

    package init(_ view: CacheView, _ scope: QuestionScope, wantsJSON: Bool) {
        self.view = view
        self.scope = scope
        list = PiecewiseList("entries", wantsJSON: wantsJSON)
    }

    /// The next piece; empty for no entries.
    package mutating func piece(of entries: [CacheEntryReport]) -> String {
        list.piece(of: entries) { [view] in $0.text(as: view) }
    }

    /// The last piece. Who asked for one name and got nothing is refused, so that scripts see it.
    package func end() -> String {
        guard view == .get else { return list.end(text: "; \(counted(list.count, "entry", "entries"))\n") }
        guard list.count == 0 else { return list.end(text: "") }
        let type = scope.type.map { " \($0)" } ?? ""
        return list.refusal("no entry for \(scope.name)\(type)")
    }
}
