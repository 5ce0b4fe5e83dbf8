// Forgery evidence, as text, JSON and a note of the store. One source returned an address that failed its probe, and
// another source's address was verified; or an answer contradicted a rule's `expect`. Sizes are bounded so that the
// evidence fits into a note; the text is safe to print.

package struct EvidenceReport: Codable, Equatable, Sendable {
    /// The number of the evidence, which starts at 0 and keeps counting across restarts.
    package var number: Int
    /// The time in seconds since 1970.
    package let seconds: Int64
    /// The name without the final dot.
    package let name: String
    package let type: String
    /// The number of the network on which the evidence was recorded.
    package let network: Int
    /// The forged answer.
    package let mismatched: Claim
    /// The verified answer; nil for an answer that contradicts a rule's `expect`.
    package let verified: Claim?

    package struct Claim: Codable, Equatable, Sendable {
        /// The source: a provider's name, or "system".
        package let source: String
        /// The first addresses of the source's answer.
        package let addresses: [String]
        /// The address that was probed, or that speaks against the answer.
        package let address: String
        /// The probed port; 0 without a probe.
        package let port: Int
        package let verdict: String
        package let detail: String
        package let certificate: CertificateReport?

        package init(
            source: String, addresses: [String], address: String, port: Int, verdict: String, detail: String,
            certificate: CertificateReport?
        ) {
            self.source = source.shown(maxBytes: Bound.sourceBytes)
            self.addresses = addresses.prefix(Bound.addresses).map { $0.shown(maxBytes: Bound.addressBytes) }
            self.address = address.shown(maxBytes: Bound.addressBytes)
            self.port = Int(UInt16(clamping: port))
            self.verdict = verdict.shown(maxBytes: Bound.wordBytes)
            self.detail = detail.shown(maxBytes: Bound.detailBytes)
            self.certificate = certificate?.withNames(atMost: Bound.names)
        }

        fileprivate var bounded: Claim {
            Claim(
                source: source, addresses: addresses, address: address, port: port, verdict: verdict, detail: detail,
                certificate: certificate)
        }
    }

    /// The verdict on an answer that contradicts a rule's `expect`.
    package static let contradiction = "contradicts-expect"

    /// Upper bounds. Together they stay below the size of a note.
    private enum Bound {
        /// More than a daemon can ever record, and small enough that the next number does not overflow.
        static let number = 1 << 53
        static let nameBytes = 260
        /// Bytes of a type or a verdict.
        static let wordBytes = 24
        static let sourceBytes = 64
        static let addresses = 16
        static let addressBytes = 40
        static let detailBytes = 120
        static let names = 3
    }

    package init(
        number: Int, seconds: Int64, name: String, type: String, network: Int, mismatched: Claim, verified: Claim?
    ) {
        self.number = number
        self.seconds = seconds
        self.name = name.shown(maxBytes: Bound.nameBytes)
        self.type = type.shown(maxBytes: Bound.wordBytes)
        self.network = network
        self.mismatched = mismatched
        self.verified = verified
    }

    private var bounded: EvidenceReport {
        EvidenceReport(
            number: number, seconds: seconds, name: name, type: type, network: network, mismatched: mismatched.bounded,
            verified: verified?.bounded)
    }
}

extension EvidenceReport {
    /// The form that the store keeps.
    package var note: String { String(json(self).dropLast()) }

    /// Parses a note; nil if `note` cannot have written this text: a note is read from a file.
    package init?(note: String) {
        guard let read: EvidenceReport = decoded(note), (0..<Bound.number).contains(read.number), read.seconds >= 0,
            read.bounded == read
        else { return nil }
        self = read
    }

    var text: String {
        let head = "\(LineFormat.moment(secondsSince1970: seconds)) \(name) \(type), "
        let lines = ["\(head)network \(LineFormat.network(network))"] + [mismatched, verified].compactMap { $0?.text }
        return lines.joined(separator: "\n  ") + "\n"
    }
}

extension EvidenceReport.Claim {
    /// The claim as text: "alidns returned 192.0.2.66 (name-mismatch; certificate evil.example, by ...), one of
    /// 192.0.2.66 192.0.2.67".
    fileprivate var text: String {
        let words = [detail.isEmpty ? verdict : "\(verdict): \(detail)", certificate.map { "certificate \($0.text)" }]
            .compactMap { $0 }
        let others = addresses.joined(separator: " ")
        return "\(source) returned \(address) (\(words.joined(separator: "; "))), one of \(others)"
    }
}
