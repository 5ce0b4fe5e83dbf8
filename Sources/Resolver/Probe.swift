// What a probe is about and what it finds: one TLS handshake with one address, that says a name. Values only: what is
// probed, and what follows from it, is `Verification`'s to decide.

package import DNSWire

/// In the words of statistics and of the control socket.
package enum Verdict: String, Hashable, Sendable, CaseIterable {
    /// A certificate for the name, valid now, from an authority that is trusted.
    case verified
    /// A valid certificate for somebody else, or the server says that it does not serve the name (HTTP 421).
    case nameMismatch = "name-mismatch"
    /// No chain leads to an authority that is trusted.
    case untrusted
    /// The right certificate, and not valid now.
    case expiredCertificate = "expired-certificate"
    /// Closed after the ClientHello, without a word of TLS.
    case tlsReset = "tls-reset"
    /// One side ended the handshake with an alert.
    case tlsAlert = "tls-alert"
    /// Connected, and then not done in time.
    case tlsTimeout = "tls-timeout"
    case refused
    case unreachable
    /// Not connected in time.
    case timeout
    /// Speaks, but no TLS.
    case notTLS = "not-tls"
    /// The right certificate, at a time that our clock cannot tell.
    case timeDoubtful = "time-doubtful"
    case unprobed

    /// Somebody else's address, as far as a certificate can show.
    package var isCondemned: Bool { self == .nameMismatch || self == .untrusted }

    /// Nobody is there.
    package var isDead: Bool { self == .refused || self == .unreachable || self == .timeout }

    /// What was found proves that TLS is spoken there.
    package var speaksTLS: Bool {
        switch self {
        case .verified, .nameMismatch, .untrusted, .expiredCertificate, .tlsAlert, .timeDoubtful: true
        case .tlsReset, .tlsTimeout, .refused, .unreachable, .timeout, .notTLS, .unprobed: false
        }
    }
}

package struct ProbeTarget: Hashable, Sendable {
    package let name: Name
    package let address: Address
    package let port: UInt16

    package init(_ name: Name, _ address: Address, port: UInt16) {
        self.name = name
        self.address = address
        self.port = port
    }
}

/// Never used twice.
package struct ProbeID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }
}

package struct ProbeResult: Equatable, Sendable {
    package var verdict: Verdict
    /// The one that was shown, right or not.
    package var certificate: SeenCertificate?
    /// Until connected; nil if it never was.
    package var connectTime: Duration?
    /// From there to the end of the handshake; nil if it had none.
    package var handshakeTime: Duration?
    /// What the verdict does not say, in a few words that are safe to print; may be empty.
    package var detail: String

    package init(_ verdict: Verdict, detail: String = "") {
        self.verdict = verdict
        self.detail = detail
    }
}

/// Texts are safe to print, and bounded.
package struct SeenCertificate: Hashable, Sendable {
    /// SHA-256 of the whole certificate in hexadecimal digits: what `openssl x509 -fingerprint` shows, without colons.
    package let fingerprint: String
    package let issuer: String
    /// Subject alternative names, or the subject where there is none.
    package let names: [String]
    /// In seconds since 1970.
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

/// Why no probe was begun that somebody asked for.
package enum ProbeRefusal: String, Sendable, CaseIterable {
    /// By the settings, or by a rule.
    case disabled
    /// Not an address of the public Internet, and no rule allows it.
    case notPublic = "not-public"
    /// No answer for the name has led there.
    case unknownAddress = "unknown-address"
    /// A bound is reached.
    case overload
}

/// What became of probes, for those who wait for them.
package enum ProbeNews: Equatable, Sendable {
    case found(ProbeTarget, ProbeResult)
    case refused(Name, Address, ProbeRefusal)
}

/// A source has led to an address that is somebody else's, and another one to an address that is the name's own.
package struct Divergence: Equatable, Sendable {
    package struct Claim: Equatable, Sendable {
        /// Never `local` or `fallback`.
        package let source: Source
        /// All that it said.
        package let addresses: [Address]
        /// The one that was probed.
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
    package let condemned: Claim
    package let verified: Claim

    package init(_ question: Question, condemned: Claim, verified: Claim) {
        self.question = question
        self.condemned = condemned
        self.verified = verified
    }
}

/// All that is known of one address of a name, and why it stands in its answers where it stands.
package struct JudgedAddress: Equatable, Sendable {
    package let target: ProbeTarget
    /// `unprobed` if there was no probe yet.
    package let result: ProbeResult
    package let probedAt: Instant?
    /// Not before; nil: when it is next in an answer.
    package let nextProbeAt: Instant?
    package let place: AddressPlace
    /// Who led there, the latest first.
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

/// Where an address stands among those of its name and family.
package enum AddressPlace: String, Sendable, CaseIterable {
    /// Verified, and about as quick as the quickest: these take turns.
    case quickest
    /// Verified, and slower.
    case slower
    /// Not verified, and not condemned: behind those that are verified.
    case behind
    /// No address of the name speaks TLS: in the order in which the upstream gave them.
    case asGiven = "as-given"
    /// Condemned; another address of the name is not.
    case quarantined
    /// Dead; another address of the name is not.
    case dropped
    /// Condemned or dead, and handed out because the name has no better one.
    case lastResort = "last-resort"
    /// In no answer that is kept.
    case absent
}

package struct ProbeCounts: Equatable, Sendable {
    package var done: UInt64 = 0
    package var verdicts: [Verdict: UInt64] = [:]
    /// Addresses that are kept from clients now.
    package var quarantined = 0
    package var dropped = 0
    package var divergences: UInt64 = 0
    package var running = 0
    package var waiting = 0
    /// Probes that were due and not begun, by the bound that was reached or the rule that forbids it.
    package var skipped: [ProbeRefusal: UInt64] = [:]
    /// Probes that were begun and never ended.
    package var lost: UInt64 = 0
    /// Names that had to make room for others, with all that was known of them.
    package var forgottenNames: UInt64 = 0

    package init() {}
}
