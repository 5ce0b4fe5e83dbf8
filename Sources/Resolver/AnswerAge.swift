// Ages an answer that was held back before it is given.

import DNSWire

extension Answer {
    /// Returns the answer with its remaining TTL, so that holding it back does not extend its lifetime.
    func aged(since learnedAt: Instant, now: Instant) -> Answer {
        let seconds = UInt32(clamping: learnedAt.duration(to: now).components.seconds)
        return seconds == 0 ? self : withTTL(to: ttlSeconds - min(ttlSeconds, seconds))
    }
}
