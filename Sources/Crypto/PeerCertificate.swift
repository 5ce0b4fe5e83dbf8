// A server's certificate as text and numbers, for display and forgery evidence. Not validated. The texts are
// untrusted, so they are bounded and free of control characters.

import COpenSSL

package struct PeerCertificate: Hashable, Sendable {
    /// SHA-256 of the whole certificate in hexadecimal, without colons.
    package let fingerprint: String
    /// The subject, in the form of the issuer.
    package let subject: String
    /// The issuer: "C = US, O = Let's Encrypt, CN = R3".
    package let issuer: String
    /// DNS alternative names, at most `maxNames`; without any, the subject in the form of the issuer.
    package let names: [String]
    /// The validity period in seconds since 1970. An unreadable date makes both ends 0.
    package let notBefore: Int64
    package let notAfter: Int64

    /// Bound on names. A CDN's certificate has up to a hundred.
    package static let maxNames = 100
    /// The length of the longest DNS name.
    package static let maxTextBytes = 255

    /// Returns nil if a digest or text could not be computed.
    ///
    /// - Parameter certificate: borrowed.
    init?(_ certificate: OpaquePointer) {
        var digest = [UInt8](repeating: 0, count: 32)
        guard unsafe X509_digest(certificate, EVP_sha256(), &digest, nil) == 1,
            let issuer = unsafe PeerCertificate.text(X509_get_issuer_name(certificate)),
            let subject = unsafe PeerCertificate.text(X509_get_subject_name(certificate))
        else { return nil }
        fingerprint = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        (self.subject, self.issuer) = (subject, issuer)
        let names = unsafe PeerCertificate.alternativeNames(certificate)
        self.names = names.isEmpty ? [subject] : names
        let dates = unsafe Validity(certificate)
        notBefore = dates?.first ?? 0
        notAfter = dates?.last ?? 0
    }

    private static func alternativeNames(_ certificate: OpaquePointer) -> [String] {
        guard let all = unsafe copenssl_alternative_names(certificate) else { return [] }
        defer { unsafe GENERAL_NAMES_free(all) }
        var names: [String] = []
        let count = unsafe copenssl_name_count(all)
        for index in 0..<count where names.count < maxNames {
            guard let name = unsafe copenssl_dns_name(all, index) else { continue }
            let bytes = unsafe UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(name), count: Int(ASN1_STRING_length(name)))
            names.append(shown(unsafe Array(bytes.prefix(maxTextBytes))))
        }
        return names
    }

    private static func text(_ name: OpaquePointer?) -> String? {
        guard let buffer = unsafe BIO_new(BIO_s_mem()) else { return nil }
        defer { unsafe BIO_free(buffer) }
        guard unsafe copenssl_print_name(buffer, name) >= 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: maxTextBytes)
        var count = 0
        _ = unsafe BIO_read_ex(buffer, &bytes, bytes.count, &count)
        return shown(Array(bytes.prefix(count)))
    }

    /// Removes control characters (C0, DEL, C1), which could drive a terminal, and format characters, which could
    /// reverse text.
    private static func shown(_ bytes: [UInt8]) -> String {
        var text = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            let kind = scalar.properties.generalCategory
            let isUnseen = [.control, .format, .lineSeparator, .paragraphSeparator].contains(kind)
            let next = isUnseen ? "?" : scalar
            guard text.utf8.count + next.utf8.count <= maxTextBytes else { break }
            text.unicodeScalars.append(next)
        }
        return text
    }
}
