// Cache entries as one answer, rendered page by page. Text ends with a comment line that counts the entries, so that
// truncation is visible. A list begins with a comment line that names the columns.

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
        let isFirst = list.count == 0 && !entries.isEmpty
        let page = list.page(of: entries) { [view] in $0.text(as: view) }
        return isFirst && view == .list && !list.wantsJSON ? CacheEntryReport.header + page : page
    }

    package func end() -> String {
        guard view == .get else { return list.end(text: "; \(counted(list.count, "entry", "entries"))\n") }
        guard list.count == 0 else { return list.end(text: "") }
        let type = scope.type.map { " \($0)" } ?? ""
        return list.refusal("no entry for \(scope.name)\(type)")
    }
}
