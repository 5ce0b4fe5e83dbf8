// One address of a name, as text and JSON: the result of its probe, and in lists its rank with the reason.

package struct AddressReport: Report, Codable, Equatable {
    /// The name without the final dot.
    package var name: String
    package var address: String
    /// The port; nil if none was probed.
    package var port: Int?
    /// The verdict, "unprobed" before the first probe. Nil if a probe was requested and has no result.
    package var verdict: String?
    /// Why a requested probe has no result.
    package var failure: String?
    /// Details beyond the verdict.
    package var detail: String?
    package var connectMilliseconds: Int?
    package var handshakeMilliseconds: Int?
    package var certificate: CertificateReport?
    /// Time since the probe.
    package var ageSeconds: Int?
    /// Earliest time of the next probe; nil: the next answer with this address causes it.
    package var nextProbeSeconds: Int?
    /// The rank among the addresses of the same name and family, with a short reason. Nil unless requested.
    package var place: String?
    package var reason: String?
    /// The sources whose answers had this address, the most recent first.
    package var sources: [String]?

    private static let maxDetailBytes = 200

    package init(name: String, address: String, port: Int? = nil) {
        self.name = name
        self.address = address
        self.port = port
    }

    /// - Parameter detail: untrusted text, possibly written by a remote server.
    package mutating func set(verdict: String, detail: String) {
        self.verdict = verdict
        self.detail = detail.isEmpty ? nil : detail.shown(maxBytes: AddressReport.maxDetailBytes)
    }

    package enum CodingKeys: String, CodingKey {
        case name, address, port, verdict, failure, detail, certificate, place, reason, sources
        case connectMilliseconds = "connect_ms"
        case handshakeMilliseconds = "handshake_ms"
        case ageSeconds = "age_s"
        case nextProbeSeconds = "next_probe_s"
    }
}

extension AddressReport {
    /// The line of one result of `verify`.
    package var text: String {
        let finding = verdict.map { $0 + (detail.map { " (\($0))" } ?? "") } ?? "no result: \(failure ?? "")"
        let times = [("connect", connectMilliseconds), ("handshake", handshakeMilliseconds)].compactMap { time in
            time.1.map { "\(time.0) \($0) ms" }
        }
        let facts = [times.joined(separator: ", "), certificate.map { "certificate \($0.text)" } ?? ""]
        let cells = [endpoint, finding] + facts.filter { !$0.isEmpty }
        return LineFormat.spaced(cells, widths: [AddressReport.endpointWidth, AddressReport.verdictWidth]) + "\n"
    }

    /// The line of one address in `verdicts`.
    var row: String {
        LineFormat.spaced(
            [
                name, endpoint, verdict ?? "-", ageSeconds.map { LineFormat.span(seconds: $0) } ?? "-",
                rankedMilliseconds.map { "\($0) ms" } ?? "-",
                nextProbeSeconds.map { LineFormat.span(seconds: $0) } ?? "-",
                [place, reason].compactMap { $0 }.joined(separator: ": "),
                sources.map { $0.isEmpty ? "no source" : "by \($0.joined(separator: ", "))" } ?? "",
            ], widths: AddressReport.widths) + "\n"
    }

    /// The time that decides the rank: of the handshake, or of the connection if there was none.
    var rankedMilliseconds: Int? { handshakeMilliseconds ?? (verdict == "connected" ? connectMilliseconds : nil) }

    /// The column titles of `verdicts`.
    static var titles: String {
        LineFormat.spaced(
            ["name", "address", "verdict", "age", "handshake", "next", "place and sources"], widths: widths)
            + "\n"
    }

    /// The detail lines below a row of `verdicts NAME`.
    var details: [String] {
        [detail, certificate.map { "certificate \($0.text)" }].compactMap { $0 }.map { "  \($0)\n" }
    }

    var endpoint: String {
        guard let port else { return address }
        return address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }

    /// Width of the endpoint column: wide enough for most endpoints; a longer one shifts the rest of its line.
    private static let endpointWidth = 19
    /// Width of the verdict column: the length of the longest verdict.
    private static let verdictWidth = 19
    private static let widths = [24, endpointWidth, verdictWidth, 6, 9, 6]
}
