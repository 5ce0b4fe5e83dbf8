// One address of a name as people and scripts see it: what a probe found, and in lists where it stands and why.

package struct AddressReport: Codable, Equatable, Sendable {
    /// Without the final dot.
    package var name: String
    package var address: String
    /// Nil where none was probed.
    package var port: Int?
    /// "unprobed" where there was no probe yet; nil where one was wanted and has no result.
    package var verdict: String?
    /// Why there is no result.
    package var failure: String?
    /// What the verdict does not say.
    package var detail: String?
    package var connectMilliseconds: Int?
    package var handshakeMilliseconds: Int?
    package var certificate: CertificateReport?
    /// Since the probe.
    package var ageSeconds: Int?
    /// Not before; nil: when it is next in an answer.
    package var nextProbeSeconds: Int?
    /// Among the addresses of its name and family, and the reason in a few words; nil where nobody asked.
    package var place: String?
    package var reason: String?
    /// Who led there, the latest first.
    package var sources: [String]?

    private static let maxDetailBytes = 200

    package init(name: String, address: String, port: Int? = nil) {
        self.name = name
        self.address = address
        self.port = port
    }

    /// - Parameter detail: a stranger may have written it.
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
    package var jsonLine: String { json(self) }

    /// As a step of `verify`.
    package var text: String {
        let finding = verdict.map { $0 + (detail.map { " (\($0))" } ?? "") } ?? "no result: \(failure ?? "")"
        let times = [("connect", connectMilliseconds), ("handshake", handshakeMilliseconds)].compactMap { time in
            time.1.map { "\(time.0) \($0) ms" }
        }
        let facts = [times.joined(separator: ", "), certificate.map { "certificate \($0.text)" } ?? ""]
        let cells = [endpoint, finding] + facts.filter { !$0.isEmpty }
        return LineFormat.spaced(cells, widths: [AddressReport.endpointWidth, AddressReport.verdictWidth]) + "\n"
    }

    /// As a line of `verdicts`.
    var row: String {
        LineFormat.spaced(
            [
                name, endpoint, verdict ?? "-", ageSeconds.map { LineFormat.span(seconds: $0) } ?? "-",
                handshakeMilliseconds.map { "\($0) ms" } ?? "-",
                nextProbeSeconds.map { LineFormat.span(seconds: $0) } ?? "-",
                [place, reason].compactMap { $0 }.joined(separator: ": "),
                sources.map { "by \($0.isEmpty ? "nobody" : $0.joined(separator: ", "))" } ?? "",
            ], widths: AddressReport.widths) + "\n"
    }

    /// Above such lines.
    static var titles: String {
        LineFormat.spaced(
            ["name", "address", "verdict", "age", "handshake", "next", "place and who led there"], widths: widths)
            + "\n"
    }

    /// Below one, where it is about one name.
    var details: [String] {
        [detail, certificate.map { "certificate \($0.text)" }].compactMap { $0 }.map { "  \($0)\n" }
    }

    var endpoint: String {
        guard let port else { return address }
        return address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }

    /// What most have; a longer one moves the rest of its line.
    private static let endpointWidth = 19
    /// Of the longest one.
    private static let verdictWidth = 19
    private static let widths = [24, endpointWidth, verdictWidth, 6, 9, 6]
}
