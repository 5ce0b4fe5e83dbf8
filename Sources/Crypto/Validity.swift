// The validity period of a certificate, in seconds since 1970. Reads no clock.

import COpenSSL

struct Validity {
    let first: Int64
    let last: Int64

    /// Returns nil if a date is unreadable.
    ///
    /// - Parameter certificate: borrowed.
    init?(_ certificate: OpaquePointer) {
        guard let first = unsafe Validity.seconds(X509_get0_notBefore(certificate)),
            let last = unsafe Validity.seconds(X509_get0_notAfter(certificate))
        else { return nil }
        self.first = first
        self.last = last
    }

    /// Excludes the last second, as OpenSSL does, although RFC 5280 section 4.1.2.5 includes it.
    func contains(_ seconds: Int64) -> Bool { first <= seconds && seconds < last }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        let start = unsafe ASN1_TIME_set(nil, 0)
        defer { unsafe ASN1_TIME_free(start) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, start, time) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}
