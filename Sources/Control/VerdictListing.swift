// `verdicts` as one answer that is made piece by piece: a line for each address, and for one name what else is known.

package import DNSWire

package struct VerdictListing: Sendable {
    /// Nil: all of which something is known.
    package let name: Name?
    private var list: PiecewiseList

    package init(_ name: Name?, wantsJSON: Bool) {
        self.name = name
        list = PiecewiseList("verdicts", wantsJSON: wantsJSON)
    }

    /// The next piece; empty for no addresses.
    package mutating func piece(of addresses: [AddressReport]) -> String {
        let needsTitles = list.count == 0 && !list.wantsJSON && !addresses.isEmpty
        let piece = list.piece(of: addresses) { [name] address in
            address.row + (name == nil ? "" : address.details.joined())
        }
        return needsTitles ? AddressReport.titles + piece : piece
    }

    /// The last piece. Who asked for one name of which nothing is known is refused, so that scripts see it.
    package func end() -> String {
        if list.count == 0, let name { return list.refusal("no verdict for \(name)") }
        return list.end(text: name == nil ? "; \(counted(list.count, "address", "addresses"))\n" : "")
    }
}
