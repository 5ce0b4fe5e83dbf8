// `verdicts` as one answer, rendered page by page: one line per address, with details if one name is requested.

package import DNSWire

package struct VerdictListing: Listing {
    /// The requested name; nil: all names with a known state.
    package let name: Name?
    private var list: PagedListing

    package init(_ name: Name?, wantsJSON: Bool) {
        self.name = name
        list = PagedListing("verdicts", wantsJSON: wantsJSON)
    }

    package mutating func page(of addresses: [AddressReport]) -> String {
        let needsTitles = list.count == 0 && !list.wantsJSON && !addresses.isEmpty
        let page = list.page(of: addresses) { [name] address in
            address.row + (name == nil ? "" : address.details.joined())
        }
        return needsTitles ? AddressReport.titles + page : page
    }

    /// Returns the last page. If the requested name is unknown, the answer is a refusal, so that scripts can detect
    /// it.
    package func end() -> String {
        if list.count == 0, let name { return list.refusal("no verdict for \(name)") }
        return list.end(text: name == nil ? "; \(counted(list.count, "address", "addresses"))\n" : "")
    }
}
