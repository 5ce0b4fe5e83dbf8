// A server's certificate as bounded text, safe for terminals, logs and the store. It does not say whether the
// certificate is valid for a name.

package struct CertificateReport: Codable, Equatable, Sendable {
    /// SHA-256 of the whole certificate, in hexadecimal digits.
    package let fingerprint: String
    package let issuer: String
    /// The first names of the certificate, at most `maxNames`.
    package let names: [String]
    package let nameCount: Int
    /// The validity period in seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64

    /// Maximum number of names: enough to recognise the owner; a CDN's certificate has a hundred names.
    package static let maxNames = 16
    /// Number of names that the text form shows.
    private static let maxNamesInText = 3
    private static let maxFingerprintBytes = 64
    private static let maxIssuerBytes = 120
    /// Maximum size of a name. Names may be longer, but this many bytes distinguish them.
    private static let maxNameBytes = 100

    package init(fingerprint: String, issuer: String, names: [String], notBefore: Int64, notAfter: Int64) {
        self.init(
            fingerprint: fingerprint, issuer: issuer, names: names, nameCount: names.count, notBefore: notBefore,
            notAfter: notAfter)
    }

    private init(
        fingerprint: String, issuer: String, names: [String], nameCount: Int, notBefore: Int64, notAfter: Int64
    ) {
        self.fingerprint = fingerprint.shown(maxBytes: CertificateReport.maxFingerprintBytes)
        self.issuer = issuer.shown(maxBytes: CertificateReport.maxIssuerBytes)
        self.names = names.prefix(CertificateReport.maxNames).map {
            $0.shown(maxBytes: CertificateReport.maxNameBytes)
        }
        self.nameCount = nameCount
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// Returns the report with at most `count` names, for use where space is limited.
    func withNames(atMost count: Int) -> CertificateReport {
        CertificateReport(
            fingerprint: fingerprint, issuer: issuer, names: Array(names.prefix(count)), nameCount: nameCount,
            notBefore: notBefore, notAfter: notAfter)
    }

    package enum CodingKeys: String, CodingKey {
        case issuer, names
        case fingerprint = "sha256"
        case nameCount = "name_count"
        case notBefore = "not_before_s"
        case notAfter = "not_after_s"
    }
}

extension CertificateReport {
    /// The certificate as text: "a.example, b.example (12 names), by CN=..., until 2026-12-01, sha256 ...".
    var text: String {
        let shown = names.prefix(CertificateReport.maxNamesInText)
        let count = nameCount > shown.count ? " (\(nameCount) names)" : ""
        let days = "until \(LineFormat.day(secondsSince1970: notAfter))"
        return "\(shown.isEmpty ? "without names" : shown.joined(separator: ", "))\(count), by \(issuer), \(days), "
            + "sha256 \(fingerprint)"
    }
}
