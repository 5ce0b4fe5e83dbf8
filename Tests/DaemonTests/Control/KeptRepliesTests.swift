// Replies that are made once for all simultaneous requests.

import DNSWire
import HTTPServer
import LinuxIO
import Testing

@testable import Daemon

@Suite("Kept replies")
struct KeptRepliesTests {
    @Test("a reply is made once in 250 ms, and once for each form")
    func made() {
        let (replies, start) = (KeptReplies<Page, String>(), Clock.now())
        var made: [Page] = []
        func ask(_ page: Page, after milliseconds: Int) -> String {
            replies.reply(in: page, now: start + .milliseconds(milliseconds)) {
                made.append(page)
                return "\(page) \(milliseconds)"
            }
        }
        #expect([0, 1, 249].map { ask(.metrics, after: $0) } == ["metrics 0", "metrics 0", "metrics 0"])
        #expect(ask(.figures, after: 249) == "figures 249" && made == [.metrics, .figures])
        #expect([250, 499].map { ask(.metrics, after: $0) } == ["metrics 250", "metrics 250"])
        #expect(ask(.figures, after: 498) == "figures 249" && ask(.figures, after: 499) == "figures 499")
    }

    @Test("the page with a nonce is made for each request")
    func nonce() throws {
        let sampler = StatisticsSampler(Outbox())
        let pages = ServedPages(sampler) { _ in preconditionFailure("the page for people holds no figures") }
        let request = PageRequest(method: "GET", path: Page.status.rawValue, host: "127.0.0.1")
        let replies = [0, 1].map { _ in pages.reply(to: request, now: Clock.now()) }
        #expect(replies[0] != replies[1])
    }
}
