// `whois` as one answer that is made piece by piece: the names that have led to an address, each once.

package import DNSWire

package struct WhoisEntry: Codable, Equatable, Sendable {
    /// Without the final dot.
    package let name: String
    package let type: String
    /// "fresh" or "expired" in the cache, else where the address stands among those that are judged.
    package let state: String
    /// The kind of upstream that said it, or who did.
    package let provenance: String
    /// Since it was learned, or since the probe; nil if there was none.
    package let ageSeconds: Int?

    package init(name: String, type: String, state: String, provenance: String, ageSeconds: Int?) {
        self.name = name
        self.type = type
        self.state = state
        self.provenance = provenance
        self.ageSeconds = ageSeconds
    }

    package enum CodingKeys: String, CodingKey {
        case name, type, state, provenance
        case ageSeconds = "age_s"
    }

    fileprivate var line: String {
        "\(name) \(type) \(state) \(provenance) \(ageSeconds.map { LineFormat.span(seconds: $0) } ?? "-")\n"
    }
}

package struct WhoisListing: Sendable {
    package let address: Address
    private var list: PiecewiseList
    /// In lower case.
    private var names: Set<String> = []

    /// An address that more names lead to tells nothing by the next one, and each one told has to be remembered.
    package static let maxNames = 4_096

    package init(_ address: Address, wantsJSON: Bool) {
        self.address = address
        list = PiecewiseList("names", wantsJSON: wantsJSON)
    }

    package var isFull: Bool { names.count >= WhoisListing.maxNames }

    /// The next piece; empty for no entries, and for those whose names were told already.
    package mutating func piece(of entries: [WhoisEntry]) -> String {
        let new = entries.filter { !isFull && names.insert($0.name.lowercased()).inserted }
        return list.piece(of: new, text: \.line)
    }

    /// The last piece.
    package func end() -> String {
        guard list.count > 0 else { return list.refusal("no name is known to have led to \(address)") }
        return list.end(text: "; \(counted(list.count, "name", "names"))\(isFull ? ", and perhaps more" : "")\n")
    }
}
