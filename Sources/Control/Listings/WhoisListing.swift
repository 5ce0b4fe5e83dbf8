// `whois` as one answer, rendered page by page: the names that have resolved to an address, each once.

package import DNSWire

package struct WhoisEntry: Codable, Equatable, Sendable {
    /// The name without the final dot.
    package let name: String
    package let type: String
    /// "fresh" or "expired" for a cache entry, else the address's rank among those that were probed.
    package let state: String
    /// The kind of upstream, or the sources, that returned the address.
    package let provenance: String
    /// Age of the entry or of the probe; nil if there was no probe.
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

package struct WhoisListing: Listing {
    package let address: Address
    private var list: PagedListing
    /// The listed names in lower case.
    private var names: Set<String> = []

    /// Maximum number of names. Further names add no information, and each listed name uses memory.
    package static let maxNames = 4_096

    package init(_ address: Address, wantsJSON: Bool) {
        self.address = address
        list = PagedListing("names", wantsJSON: wantsJSON)
    }

    package var isFull: Bool { names.count >= WhoisListing.maxNames }

    package mutating func page(of entries: [WhoisEntry]) -> String {
        let new = entries.filter { !isFull && names.insert($0.name.lowercased()).inserted }
        return list.page(of: new, text: \.line)
    }

    package func end() -> String {
        guard list.count > 0 else { return list.refusal("no known name resolved to \(address)") }
        return list.end(text: "; \(counted(list.count, "name", "names"))\(isFull ? "; there may be more" : "")\n")
    }
}
