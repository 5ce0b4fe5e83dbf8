// One name that has resolved to the address of `whois`.

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

    /// Maximum number of names in a list. Further names add no information, and each listed name uses memory.
    package static let maxCount = 4_096

    var line: String {
        "\(name) \(type) \(state) \(provenance) \(ageSeconds.map { LineFormat.span(seconds: $0) } ?? "-")\n"
    }
}
