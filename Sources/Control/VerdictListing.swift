// `verdicts` as one answer, rendered in pieces: one line per address, with details if one name is requested.

package import DNSWire

package struct VerdictListing: Sendable {
    /// Nil: all names with a known state.
    package let name: Name?
    private var list: PiecewiseList

    package init(_ name: Name?, wantsJSON: Bool) {
        self.name = name
        list = PiecewiseList("verdicts", wantsJSON: wantsJSON)
    }

    /// Returns the next piece; empty if there are no addresses.
    package mutating func piece(of addresses: [AddressReport]) -> String {
        let needsTitles = list.count == 0 && !list.wantsJSON && !addresses.isEmpty
        let piece = list.piece(of: addresses) { [name] address in
            address.row + (name == nil ? "" : address.details.joined())
        }
        return needsTitles ? AddressReport.titles + piece : piece
    }

    /// Returns the last piece. If the requested name is unknown, the answer is a refusal, so that scripts can detect
    /// it.
    package func end() -> String {
        if list.count == 0, let name { return list.refusal("no verdict for \(name)") }
        return list.end(text: name == nil ? "; \(counted(list.count, "address", "addresses"))\n" : "")
    }
}
