// Cache entries as one answer, rendered in pieces. Text ends with a comment line that counts the entries, so that
// truncation is visible.

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

    /// Returns the next piece; empty if there are no entries.
    package mutating func piece(of entries: [CacheEntryReport]) -> String {
        list.piece(of: entries) { [view] in $0.text(as: view) }
    }

    /// Returns the last piece. `cache get` without a matching entry is a refusal, so that scripts can detect it.
    package func end() -> String {
        guard view == .get else { return list.end(text: "; \(counted(list.count, "entry", "entries"))\n") }
        guard list.count == 0 else { return list.end(text: "") }
        let type = scope.type.map { " \($0)" } ?? ""
        return list.refusal("no entry for \(scope.name)\(type)")
    }
}
