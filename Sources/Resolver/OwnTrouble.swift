// What looks like the fault of addresses and is ours: a network without one of the families, and a machine that trusts
// no authority or sits behind somebody who reads along. Then nobody else knows better, and nobody is asked.

import DNSWire

struct OwnTrouble {
    /// The families in which any address was ever reached.
    private var reached: Set<RecordType> = []
    private var hasVerified = false
    /// The first few of them.
    private var untrusted: Set<Name> = []

    mutating func learned(_ target: ProbeTarget, _ result: ProbeResult) {
        let verdict = result.verdict
        if verdict != .unprobed, !verdict.isDead { reached.insert(target.address.recordType) }
        if verdict == .verified { hasVerified = true }
        // Whoever reads along shows a certificate for the name, and so does a name whose authority we lack.
        guard verdict == .untrusted, result.certificate?.isFor(target.name) ?? true else { return }
        if untrusted.count < Bounds.untrustedNamesAreOurs { untrusted.insert(target.name) }
    }

    func explains(_ verdict: Verdict, in family: RecordType) -> Bool {
        switch verdict {
        case .unreachable: !reached.contains(family)
        case .untrusted: !hasVerified && untrusted.count >= Bounds.untrustedNamesAreOurs
        case .verified, .nameMismatch, .expiredCertificate, .tlsReset, .tlsAlert, .tlsTimeout, .refused, .timeout,
            .notTLS, .timeDoubtful, .unprobed:
            false
        }
    }
}

extension SeenCertificate {
    /// By its names alone, a wildcard standing for one label (RFC 9525 section 6.3).
    fileprivate func isFor(_ name: Name) -> Bool {
        names.contains { text in
            guard let own = Name(text) else { return false }
            guard own.labels.first?.elementsEqual([UInt8(ascii: "*")]) ?? false else { return own == name }
            return own.parent == name.parent
        }
    }
}
