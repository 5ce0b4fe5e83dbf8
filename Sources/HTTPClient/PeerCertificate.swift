// The certificate that a provider presented, as text for display. A reply exists only if the certificate was valid.

import CCurl

package struct PeerCertificate: Hashable, Sendable {
    package let subject: String
    package let issuer: String
    /// The end of the validity as OpenSSL writes it: "Nov 22 10:00:00 2026 GMT".
    package let notAfter: String

    /// Maximum size of a text: the length of the longest DNS name.
    package static let maxTextBytes = 255

    /// Reads the certificate; needs CURLOPT_CERTINFO. Returns nil for a reused connection or one without TLS.
    init?(of easy: UnsafeMutableRawPointer) {
        var fields: [Substring: Substring] = [:]
        var next = unsafe ccurl_leaf_certificate(easy)
        while let line = unsafe next {
            let text = unsafe String(cString: line.pointee.data)
            if let colon = text.firstIndex(of: ":") { fields[text[..<colon]] = text[text.index(after: colon)...] }
            unsafe next = UnsafePointer(line.pointee.next)
        }
        guard let subject = fields["Subject"], let notAfter = fields["Expire date"] else { return nil }
        self.subject = PeerCertificate.shown(subject)
        issuer = PeerCertificate.shown(fields["Issuer"] ?? "")
        self.notAfter = PeerCertificate.shown(notAfter)
    }

    /// Replaces control characters, since the text comes from the peer and may go to a terminal.
    private static func shown(_ text: Substring) -> String {
        let bytes = text.utf8.prefix(maxTextBytes).map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }
}
