// Replies that are given again for a short while: to gather the figures takes the daemon's loop a good part of a
// millisecond, and readers must not be able to fill it with that. A value without a clock.

package struct KeptReplies {
    /// Less than the second after which the page asks again, and than any scraper does: one reader never sees the same
    /// figures twice.
    package static let lifetime: Duration = .milliseconds(250)

    private var kept: [Page: (reply: PageReply, until: Instant)] = [:]

    package init() {}

    /// What is `made` now or was a moment ago. The page for people has its own nonce each time and is never kept.
    package mutating func reply(to page: Page, now: Instant, made: () -> PageReply) -> PageReply {
        guard page != .status else { return made() }
        if let (reply, until) = kept[page], now < until { return reply }
        let reply = made()
        kept[page] = (reply, now + KeptReplies.lifetime)
        return reply
    }
}
