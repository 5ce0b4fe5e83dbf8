// Caches expensive replies for a moment (by default 250 ms), so that frequent requests can't keep the main thread busy.

import DNSWire
import LinuxIO

// A report costs the main thread most of a millisecond. libmicrohttpd does not bound replies per turn; its connections
// are bounded.

/// - Parameter Form: the key with one reply each, such as text and JSON, or the page.
final class KeptReplies<Form: Hashable, Reply> {
    private var kept: [Form: (reply: Reply, until: Instant)] = [:]
    private let lifetime: Duration

    /// - Parameter lifetime: below human perception, and below the 1 s interval of `top`, of the page and of scrapers,
    ///   so that one reader never gets the same figures twice.
    init(for lifetime: Duration = .milliseconds(250)) {
        self.lifetime = lifetime
    }

    /// Returns the cached reply, or calls `made` if there is none or it has expired.
    func reply(in form: Form, now: Instant, made: () -> Reply) -> Reply {
        if let (reply, until) = kept[form], now < until { return reply }
        let reply = made()
        kept[form] = (reply, now + lifetime)
        return reply
    }
}
