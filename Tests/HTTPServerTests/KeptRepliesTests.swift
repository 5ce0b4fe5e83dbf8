// How long a reply is given again.

import HTTPServer
import Testing

@Suite("Kept replies")
struct KeptRepliesTests {
    private let start = ContinuousClock.now

    @Test("figures are made once for a quarter of a second, and each page for itself")
    func kept() {
        var kept = KeptReplies()
        var made: [Page] = []
        func ask(_ page: Page, _ milliseconds: Int) -> PageReply {
            kept.reply(to: page, now: start + .milliseconds(milliseconds)) {
                made.append(page)
                return .metrics("\(page) \(milliseconds)")
            }
        }
        let first = ask(.metrics, 0)
        #expect(ask(.metrics, 249) == first)
        #expect(made == [.metrics])
        #expect(ask(.figures, 249) != first)
        #expect(made == [.metrics, .figures])
        #expect(ask(.metrics, 250) != first)
        #expect(made == [.metrics, .figures, .metrics])
    }

    @Test("a page with a nonce is made for each request")
    func nonce() {
        var kept = KeptReplies()
        let replies = [UInt64(1), 2].map { number in
            kept.reply(to: .status, now: start) { StatusPage.reply(nonce: (number, number)) }
        }
        #expect(replies[0] != replies[1])
    }
}
