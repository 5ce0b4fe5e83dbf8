// The expired answer of a lookup, and when its clients get it (RFC 8767 section 5).

import DNSWire

struct ExpiredOffer {
    private(set) var answer: ExpiredAnswer?
    /// The answer before it was downgraded because of a suspected network change.
    private var beforeDoubt: ExpiredAnswer?
    private(set) var cause = StaleCause.timeout
    /// When the answer is given, unless it is from another network.
    private var at: Instant
    private let startedAt: Instant
    private let clientTimeout: Duration

    init(clientTimeout: Duration, now: Instant) {
        at = now + clientTimeout
        startedAt = now
        self.clientTimeout = clientTimeout
    }

    /// Returns the offer for the same clients in a new lookup. Their timeout stays.
    func restarted(clientTimeout: Duration, now: Instant) -> ExpiredOffer {
        var new = ExpiredOffer(clientTimeout: clientTimeout, now: now)
        new.at = at
        new.answer = answer
        new.beforeDoubt = beforeDoubt
        return new
    }

    /// When the answer is given. An answer from another network waits until this network's upstreams had their time.
    var dueAt: Instant {
        answer?.sourceRank == .otherNetwork ? max(at, startedAt + Bounds.otherNetworkPatience) : at
    }

    /// The answer, if it is from the current network.
    var own: ExpiredAnswer? { answer.flatMap { $0.sourceRank == .otherNetwork ? nil : $0 } }

    /// A client joined a refresh, so the timeout began later than the lookup.
    var hasJoinedLate: Bool { at > startedAt + clientTimeout }

    /// When the system resolver is asked at the latest: at half of the clients' timeout. Nil: an answer from another
    /// network, or no timeout.
    var systemDueAt: Instant? {
        own == nil || clientTimeout <= .zero ? nil : at - clientTimeout / 2
    }

    mutating func hold(_ expired: ExpiredAnswer) { answer = expired }

    /// Offers the last known good answer, at the usual time or at this instant if it is earlier.
    mutating func offer(lastKnownGood: ExpiredAnswer, at instant: Instant) {
        (answer, cause) = (lastKnownGood, .denied)
        at = min(at, instant)
    }

    mutating func dropTooOld(_ now: Instant) {
        if let held = answer, held.usableUntil <= now { answer = nil }
    }

    mutating func forget() {
        answer = nil
        beforeDoubt = nil
    }

    mutating func restartTimeout(_ now: Instant) { at = now + clientTimeout }

    /// Gives the answer at once while no provider replies.
    mutating func hurry(_ areUnresponsive: Bool, now: Instant) {
        guard cause != .denied, areUnresponsive != (cause == .unresponsive) else { return }
        cause = areUnresponsive ? .unresponsive : .timeout
        at = areUnresponsive ? min(at, now) : startedAt + clientTimeout
    }

    /// Takes the answer from before the suspected change if it is to be restored.
    mutating func takeBeforeDoubt() -> ExpiredAnswer? {
        guard let before = beforeDoubt.take(), own == nil else { return nil }
        return before
    }

    var isDowngraded: Bool { beforeDoubt != nil }

    /// Lowers the rank of the answer, as the network may have changed (`isCertain`: has changed).
    mutating func downgrade(isCertain: Bool) {
        beforeDoubt = isCertain ? nil : beforeDoubt ?? own
        answer = answer?.onOtherNetwork
    }

    mutating func restore(_ expired: ExpiredAnswer?) { answer = expired }
}
