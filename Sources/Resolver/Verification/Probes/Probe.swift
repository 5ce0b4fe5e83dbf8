// Target and result of a probe: one connection to one address for one name, by default with a TLS handshake.
// `Verification` decides what is probed and what follows.

package import DNSWire

/// Result of a probe. The raw values appear in statistics and on the control socket.
package enum Verdict: String, Hashable, Sendable, CaseIterable {
    /// The server has a certificate for the name, currently valid, from a trusted authority.
    case verified
    /// The connection succeeded; no handshake was wanted (`ProbeMethod.connection`). This proves a reachable server,
    /// not the right one.
    case connected
    /// The server has a valid certificate for another name, or reports that it does not serve the name (HTTP 421).
    case nameMismatch = "name-mismatch"
    /// No chain leads to a trusted authority.
    case untrusted
    /// The certificate is the right one, but expired or not yet valid.
    case expiredCertificate = "expired-certificate"
    /// The connection was closed after the ClientHello, without a TLS message.
    case tlsReset = "tls-reset"
    /// Either side ended the handshake with an alert.
    case tlsAlert = "tls-alert"
    /// The connection succeeded, but the handshake did not end in time.
    case tlsTimeout = "tls-timeout"
    case refused
    case unreachable
    /// The connection did not succeed in time.
    case timeout
    /// The server sent data that is not TLS.
    case notTLS = "not-tls"
    /// The certificate is the right one, but the local clock is too uncertain to judge its validity period.
    case timeDoubtful = "time-doubtful"
    case unprobed

    /// The certificate shows another server than the name's. No other verdict does: a reset or a timeout during the
    /// handshake may come from this machine or from a filter on the path, and only lowers the address's rank.
    package var isMismatched: Bool { self == .nameMismatch || self == .untrusted }

    /// No server is reachable at the address.
    package var isDead: Bool { self == .refused || self == .unreachable || self == .timeout }

    /// The result proves that the server speaks TLS.
    package var speaksTLS: Bool {
        switch self {
        case .verified, .nameMismatch, .untrusted, .expiredCertificate, .tlsAlert, .timeDoubtful: true
        case .connected, .tlsReset, .tlsTimeout, .refused, .unreachable, .timeout, .notTLS, .unprobed: false
        }
    }
}

/// Identifies a probe. Never reused.
package struct ProbeID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }
}

package struct ProbeResult: Equatable, Sendable {
    package var verdict: Verdict
    /// The server's certificate, valid or not.
    package var certificate: SeenCertificate?
    /// Time until the connection; nil without one.
    package var connectTime: Duration?
    /// Time from the connection to the end of the handshake; nil without a complete handshake.
    package var handshakeTime: Duration?
    /// Details beyond the verdict, in a few printable words; may be empty.
    package var detail: String

    package init(_ verdict: Verdict, detail: String = "") {
        self.verdict = verdict
        self.detail = detail
    }
}

/// Description of a server's certificate. Texts are printable and of bounded length.
package struct SeenCertificate: Hashable, Sendable {
    /// SHA-256 of the certificate in hexadecimal digits: the output of `openssl x509 -fingerprint` without colons.
    package let fingerprint: String
    package let issuer: String
    /// Subject alternative names, or the subject if there are none.
    package let names: [String]
    /// The validity period in seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64

    package init(fingerprint: String, issuer: String, names: [String], notBefore: Int64, notAfter: Int64) {
        self.fingerprint = fingerprint
        self.issuer = issuer
        self.names = names
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}

/// Reason why a requested probe was not started.
package enum ProbeRefusal: String, Sendable, CaseIterable {
    /// Probes are disabled by the settings or by a rule.
    case disabled
    /// The address is not one of the public Internet, and no rule allows it.
    case notPublic = "not-public"
    /// No answer for the name contains the address.
    case unknownAddress = "unknown-address"
    /// A limit was reached.
    case overload
}

/// Results of requested probes, for the requesters.
package enum ProbeNews: Equatable, Sendable {
    case found(ProbeTarget, ProbeResult)
    case refused(Name, Address, ProbeRefusal)
}

/// Forgery evidence: one source gave a mismatched address of a name, and another source gave a verified one.
package struct ForgeryEvidence: Equatable, Sendable {
    package struct Claim: Equatable, Sendable {
        /// The source, never `local` or `fallback`.
        package let source: Source
        /// All addresses in the source's answer.
        package let addresses: [Address]
        /// The probed address.
        package let target: ProbeTarget
        package let result: ProbeResult

        package init(_ source: Source, _ addresses: [Address], _ target: ProbeTarget, _ result: ProbeResult) {
            self.source = source
            self.addresses = addresses
            self.target = target
            self.result = result
        }
    }

    package let question: Question
    package let mismatched: Claim
    package let verified: Claim

    package init(_ question: Question, mismatched: Claim, verified: Claim) {
        self.question = question
        self.mismatched = mismatched
        self.verified = verified
    }
}

/// Probe state of one address of a name, with the reason for its position in answers.
package struct JudgedAddress: Equatable, Sendable {
    package let target: ProbeTarget
    /// The result, `unprobed` if there was no probe yet.
    package let result: ProbeResult
    package let probedAt: Instant?
    /// Earliest time of the next probe; nil: when the address is next in an answer.
    package let nextProbeAt: Instant?
    package let place: AddressPlace
    /// Sources that gave the address, the latest first.
    package let sources: [Source]

    package init(
        _ target: ProbeTarget, _ result: ProbeResult, probedAt: Instant?, nextProbeAt: Instant?, place: AddressPlace,
        sources: [Source]
    ) {
        self.target = target
        self.result = result
        self.probedAt = probedAt
        self.nextProbeAt = nextProbeAt
        self.place = place
        self.sources = sources
    }
}

/// Position of an address among those of its name and family.
package enum AddressPlace: String, Sendable, CaseIterable {
    /// The address is verified (by `ProbeMethod.connection`: connected), and about as quick as the quickest. These
    /// addresses rotate.
    case quickest
    /// The address is verified (or connected), and slower.
    case slower
    /// The address is neither verified nor mismatched: placed after the verified ones. By `ProbeMethod.connection`: not
    /// connected.
    case behind
    /// No address of the name speaks TLS: they stay in the upstream's order.
    case asGiven = "as-given"
    /// The address is mismatched; another address of the name is not.
    case omittedAsMismatched = "quarantined"
    /// The address is unreachable; another address of the name is not.
    case omittedAsUnreachable = "dropped"
    /// The address is mismatched or unreachable, and handed out because the name has no better address.
    case lastResort = "last-resort"
    /// The address is in no cached answer.
    case absent
}

package struct ProbeCounts: Equatable, Sendable {
    package var done: UInt64 = 0
    package var verdicts: [Verdict: UInt64] = [:]
    /// Mismatched addresses that are currently withheld from clients.
    package var omittedAsMismatched = 0
    package var omittedAsUnreachable = 0
    package var divergences: UInt64 = 0
    package var running = 0
    package var waiting = 0
    /// Due probes that were not started, by reason.
    package var skipped: [ProbeRefusal: UInt64] = [:]
    /// Probes that were begun and never ended.
    package var lost: UInt64 = 0
    /// Names that were evicted with their probe state.
    package var forgottenNames: UInt64 = 0

    package init() {}
}
