// The certificate that a provider presented, as text for display. A reply exists only if the certificate was valid.

import CCurl

package struct PeerCertificate: Hashable, Sendable {
    package let subject: String
    /// Subject alternative names, as "DNS:name" or "IP Address:address"; at most `maxNames`.
    package let names: [String]
    package let issuer: String
    /// The end of the validity as OpenSSL writes it: "Nov 22 10:00:00 2026 GMT".
    package let notAfter: String
    /// `notAfter` in seconds since 1970; nil if libcurl cannot parse it.
    package let expiresAtSeconds: Int?

    /// Maximum number of names: a CDN's certificate has up to a hundred.
    package static let maxNames = 100
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
        names = (fields["X509v3 Subject Alternative Name"] ?? "").split(separator: ",")
            .prefix(PeerCertificate.maxNames).map { PeerCertificate.shown($0.drop { $0 == " " }) }
        self.notAfter = PeerCertificate.shown(notAfter)
        let seconds = unsafe curl_getdate(self.notAfter, nil)
        expiresAtSeconds = seconds == -1 ? nil : seconds
    }

    /// Replaces control characters, since the text comes from the peer and may go to a terminal.
    private static func shown(_ text: Substring) -> String {
        let bytes = text.utf8.prefix(maxTextBytes).map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }
}
