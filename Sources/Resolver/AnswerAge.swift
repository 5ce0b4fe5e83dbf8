// An answer that was held back for a while, as it is when it is given.

import DNSWire

extension Answer {
    /// With what is left of its life: an answer that was held back must not outlive its source's word.
    func aged(since learnedAt: Instant, now: Instant) -> Answer {
        let seconds = UInt32(clamping: learnedAt.duration(to: now).components.seconds)
        return seconds == 0 ? self : withTTL(to: ttlSeconds - min(ttlSeconds, seconds))
    }
}
