// Replies that cost more to make than to send: who asks again within the same moment gets the same, so that nobody
// keeps the main thread busy by asking.

import LinuxIO

/// - Parameter Form: what there is one reply for each of: text and JSON, the pages.
final class KeptReplies<Form: Hashable, Reply> {
    private var kept: [Form: (reply: Reply, until: Instant)] = [:]
    private let lifetime: Duration

    /// - Parameter lifetime: shorter than what people see, and than the second between two looks of `top`, of the page
    ///   or of a scraper: one reader never sees the same figures twice.
    init(for lifetime: Duration = .milliseconds(250)) {
        self.lifetime = lifetime
    }

    /// What is `made` now or was a moment ago.
    func reply(in form: Form, now: Instant, made: () -> Reply) -> Reply {
        if let (reply, until) = kept[form], now < until { return reply }
        let reply = made()
        kept[form] = (reply, now + lifetime)
        return reply
    }
}
