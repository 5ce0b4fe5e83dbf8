// What looks like the fault of addresses and is ours: a network without one of the families, and a machine that trusts
// no authority or sits behind somebody who reads along. Then nobody else knows better, and nobody is asked.

import DNSWire

struct OwnTrouble {
    /// The families in which any address was ever reached.
    private var reached: Set<RecordType> = []
    private var hasVerified = false
    /// The first few of them.
    private var untrusted: Set<Name> = []

    mutating func learned(_ target: ProbeTarget, _ verdict: Verdict) {
        if verdict != .unprobed, !verdict.isDead { reached.insert(target.address.recordType) }
        if verdict == .verified { hasVerified = true }
        if verdict == .untrusted, untrusted.count < Bounds.untrustedNamesAreOurs { untrusted.insert(target.name) }
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
