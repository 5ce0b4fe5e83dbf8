// Cache entries as one answer, rendered page by page. Text ends with a comment line that counts the entries, so that
// truncation is visible.

package import DNSWire

package struct CacheListing: Listing {
    package let view: CacheView
    package let scope: QuestionScope
    private var list: PagedListing

    package init(_ view: CacheView, _ scope: QuestionScope, wantsJSON: Bool) {
        self.view = view
        self.scope = scope
        list = PagedListing("entries", wantsJSON: wantsJSON)
    }

    package mutating func page(of entries: [CacheEntryReport]) -> String {
        list.page(of: entries) { [view] in $0.text(as: view) }
    }

    package func end() -> String {
        guard view == .get else { return list.end(text: "; \(counted(list.count, "entry", "entries"))\n") }
        guard list.count == 0 else { return list.end(text: "") }
        let type = scope.type.map { " \($0)" } ?? ""
        return list.refusal("no entry for \(scope.name)\(type)")
    }
}
