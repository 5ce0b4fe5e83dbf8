// What was met on the way to an address, as a verdict. An error of our own is never held against an address.

import Crypto
import DNSWire
import HTTPDNS
import LinuxIO
import Resolver

extension ProbeResult {
    /// A connection that was not made.
    ///
    /// - Parameter isAtOnce: told by the first call, before anything was sent.
    init(notConnected error: SystemError, isAtOnce: Bool) {
        // Another call's error is about this machine; so is a lack of ports, addresses or memory.
        guard error.call == "connect" else {
            self.init(.unprobed, detail: error.description)
            return
        }
        if error.isRefused {
            self.init(.refused)
        } else if error.isUnreachable {
            self.init(.unreachable, detail: isAtOnce ? "no way from here: \(error)" : error.description)
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

    /// A handshake that was done. What does not depend on the time is judged first: a clock that is wrong must not hide
    /// that a certificate is somebody else's, nor make one that is right look expired.
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

    /// Enough to see whose it is; all names go with the result.
    private static let maxShownNames = 3

    var owners: String {
        let shown = names.prefix(SeenCertificate.maxShownNames).joined(separator: ", ")
        guard !shown.isEmpty else { return "the certificate is for nobody" }
        let others = names.count - SeenCertificate.maxShownNames
        return "the certificate is for \(shown)" + (others > 0 ? " and \(others) more" : "")
    }

    /// Why one that is not valid now is not.
    func validity(nowSeconds: Int64) -> String {
        if nowSeconds < notBefore { return "not valid before \(SeenCertificate.date(notBefore))" }
        if nowSeconds > notAfter { return "expired \(SeenCertificate.date(notAfter))" }
        return "a certificate above it is not valid now"
    }

    /// Whoever wrote the certificate chose the time: what is no year from 1970 to 9999 is shown as the nearest.
    private static func date(_ seconds: Int64) -> String {
        HTTPDate(unixSeconds: min(max(seconds, 0), 253_402_300_799)).description
    }
}

extension Name {
    /// As a ClientHello has it (RFC 6066 section 3). Nil for what no certificate can be for, and for what reads as an
    /// address.
    var serverName: String? {
        guard let last = labels.last, !last.allSatisfy(\.isDigit), HostName.isValid(description) else { return nil }
        return description.lowercased()
    }
}
