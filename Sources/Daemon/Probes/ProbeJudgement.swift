// Translates the outcome of a connection into a verdict. A local error never counts against an address.

import Crypto
import DNSWire
import HTTPDNS
import LinuxIO
import Resolver

extension ProbeResult {
    /// A connection that failed to open.
    ///
    /// - Parameter isAtOnce: the first call failed, before anything was sent.
    init(notConnected error: SystemError, isAtOnce: Bool) {
        // An error of another call is local; so is a lack of ports, addresses or memory.
        guard error.call == "connect" else {
            self.init(.unprobed, detail: error.description)
            return
        }
        if error.isRefused {
            self.init(.refused)
        } else if error.isUnreachable {
            self.init(.unreachable, detail: isAtOnce ? "no route: \(error)" : error.description)
        } else if error.isTimeout {
            self.init(.timeout)
        } else {
            self.init(.unprobed, detail: error.description)
        }
    }

    init(failed failure: TLSFailure) {
        switch failure {
        case .alert(let reason): self.init(.tlsAlert, detail: reason)
        case .notTLS: self.init(.notTLS)
        }
    }

    /// A completed handshake. Checks that do not depend on the time come first: with a wrong clock, a certificate for
    /// another name must not pass as a mere date error, nor a valid one look expired.
    init(_ peer: TLSPeer, isClockDoubtful: Bool, nowSeconds: Int64) {
        let shown = SeenCertificate(peer.certificate)
        if case .untrusted(let reason) = peer.trust {
            self.init(.untrusted, detail: reason)
        } else if !peer.matchesName {
            self.init(.nameMismatch, detail: shown.owners)
        } else if isClockDoubtful {
            self.init(.timeDoubtful)
        } else if !peer.isValidNow {
            self.init(.expiredCertificate, detail: shown.validity(nowSeconds: nowSeconds))
        } else {
            self.init(.verified)
        }
        certificate = shown
    }
}

extension SeenCertificate {
    init(_ certificate: PeerCertificate) {
        self.init(
            fingerprint: certificate.fingerprint, issuer: certificate.issuer, names: certificate.names,
            notBefore: certificate.notBefore, notAfter: certificate.notAfter)
    }

    /// Names shown in the text; the result contains all of them.
    private static let maxShownNames = 3

    var owners: String {
        let shown = names.prefix(SeenCertificate.maxShownNames).joined(separator: ", ")
        guard !shown.isEmpty else { return "the certificate contains no name" }
        let others = names.count - SeenCertificate.maxShownNames
        return "the certificate is for \(shown)" + (others > 0 ? " and \(others) more" : "")
    }

    /// Returns why a certificate is outside its validity period.
    func validity(nowSeconds: Int64) -> String {
        if nowSeconds < notBefore { return "not valid before \(SeenCertificate.date(notBefore))" }
        if nowSeconds > notAfter { return "expired \(SeenCertificate.date(notAfter))" }
        return "an issuer's certificate is not valid now"
    }

    /// The certificate's author chose the time: a value outside the years 1970 to 9999 is shown as the nearest one
    /// inside.
    private static func date(_ seconds: Int64) -> String {
        HTTPDate(unixSeconds: min(max(seconds, 0), 253_402_300_799)).description
    }
}

extension Name {
    /// Server name for a ClientHello (RFC 6066 section 3); nil for a name that no certificate can cover, and for one
    /// that reads as an address.
    var serverName: String? {
        guard let last = labels.last, !last.allSatisfy(\.isDigit), HostName.isValid(description) else { return nil }
        return description.lowercased()
    }
}
