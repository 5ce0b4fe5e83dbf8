// How quickly the system resolver answers.

import DNSWire

/// How quickly the system resolver answers if it is asked first, and whether it answers at all.
struct SystemPace {
    private var latency = LatencyEstimate()
    /// Registrable domains without an answer since the last answer, at most `Bounds.silentDomains`: the nameservers of
    /// one domain may be slow or down.
    private var silentDomains: Set<Name> = []
    private var silentAt: Instant?

    /// Records a reply: any reply ends the silence. Errors come faster than answers, so only answers are measured.
    mutating func fetchFinished(_ result: FetchResult, after elapsed: Duration, now: Instant) {
        guard result.isHeard else { return }
        if case .success = result { latency.measure(elapsed, now: now) }
        silentDomains = []
    }

    /// Records a failure. A failure that the system resolver reported is an answer, and a shortage of slots is the
    /// daemon's own.
    mutating func failed(_ failure: FetchFailure, of domain: Name, now: Instant) {
        if failure.isUnheard { silent(domain, now: now) }
    }

    /// A provider answered before the system resolver.
    mutating func overtaken(of domain: Name, after elapsed: Duration, now: Instant) {
        if elapsed >= Bounds.systemLeadFloor { silent(domain, now: now) }
    }

    private mutating func silent(_ domain: Name, now: Instant) {
        if let silentAt, now - silentAt > Bounds.unresponsiveMemory { silentDomains = [] }
        silentAt = now
        if silentDomains.count < Bounds.silentDomains { silentDomains.insert(domain) }
    }

    /// Whether the system resolver did not answer lately. A provider that is asked before its answer is then no hedge.
    func isSilent(_ now: Instant) -> Bool {
        guard silentDomains.count >= Bounds.silentDomains, let silentAt else { return false }
        return now - silentAt < Bounds.systemSilentPause
    }

    /// Time for which only the system resolver is asked: `Bounds.systemHedgeFactor` times its usual answer time.
    func lead(_ now: Instant) -> Duration {
        if isSilent(now) { return Bounds.systemLeadWhileSilent }
        guard let expected = latency.expectedAnswerTime else { return Bounds.systemLeadCeiling }
        let usual = Duration.milliseconds(expected) * Bounds.systemHedgeFactor
        return min(max(usual, Bounds.systemLeadFloor), Bounds.systemLeadCeiling)
    }
}
