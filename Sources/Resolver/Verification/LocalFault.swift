// Detects local causes of bad verdicts: a network without one address family, or a machine without a trusted authority
// or behind TLS inspection. Other sources are not asked in these cases, as they have no better answer.

import DNSWire

struct LocalFault {
    /// Address families in which an address was ever reached.
    private var reached: Set<RecordType> = []
    private var hasVerified = false
    /// The first names with untrusted certificates, at most `Bounds.untrustedNamesAreOurs`.
    private var untrusted: Set<Name> = []

    mutating func learned(_ target: ProbeTarget, _ result: ProbeResult) {
        let verdict = result.verdict
        if verdict != .unprobed, !verdict.isDead { reached.insert(target.address.recordType) }
        if verdict == .verified { hasVerified = true }
        // TLS inspection presents a certificate for the name. So does a server whose authority is missing on this
        // machine.
        guard verdict == .untrusted, result.certificate?.isFor(target.name) ?? true else { return }
        if untrusted.count < Bounds.untrustedNamesAreOurs { untrusted.insert(target.name) }
    }

    func explains(_ verdict: Verdict, in family: RecordType) -> Bool {
        switch verdict {
        case .unreachable: !reached.contains(family)
        case .untrusted: !hasVerified && untrusted.count >= Bounds.untrustedNamesAreOurs
        case .verified, .connected, .nameMismatch, .expiredCertificate, .tlsReset, .tlsAlert, .tlsTimeout, .notTLS,
            .refused, .timeout, .timeDoubtful, .unprobed:
            false
        }
    }
}

extension SeenCertificate {
    /// Compares the certificate's names only. A wildcard stands for one label (RFC 9525 section 6.3).
    fileprivate func isFor(_ name: Name) -> Bool {
        names.contains { text in
            guard let own = Name(text) else { return false }
            guard own.labels.first?.elementsEqual([UInt8(ascii: "*")]) ?? false else { return own == name }
            return own.parent == name.parent
        }
    }
}
