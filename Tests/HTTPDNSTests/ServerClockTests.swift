// The provider's time, learned from its replies.

import DNSWire
import HTTPDNS
import TestSupport
import Testing

@Suite("A provider's clock")
struct ServerClockTests {
    /// Learns from a reply with this Date header.
    private static func learn(_ clock: inout ServerClock, _ date: String?, at wallMilliseconds: Int64) -> Bool {
        let reply = HTTPReply(headers: HTTPHeaders(date.map { [.init("Date", $0)] } ?? []))
        return clock.learn(from: reply, in: DoHDialect(url: ""), wallMilliseconds: wallMilliseconds)
    }

    @Test(
        "dates are read in the one form that servers write",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Mon, 18 Aug 2025 14:04:10 GMT", 1_755_525_850),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ] as [(String, Int64)])
    func dates(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(text.utf8.span)?.unixSeconds == seconds)
    }

    @Test(
        "what is no date is none",
        arguments: [
            "", "Sun, 06 Nov 1994 08:49:37 CET", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun, 31 Feb 2000 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1899 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x",
        ])
    func garbage(_ text: String) {
        #expect(HTTPDate(text.utf8.span) == nil)
    }

    @Test("every written date is read again")
    func roundTrip() {
        var chance = SeededRandom(seed: 3)
        for _ in 0..<2000 {
            let date = HTTPDate(unixSeconds: Int64.random(in: 0..<253_402_300_800, using: &chance))
            #expect(HTTPDate(date.description.utf8.span) == date, "seed 3: \(date.description)")
        }
    }

    @Test("the provider's time is known for an hour after a dated reply, unless our clock is put back")
    func known() {
        var clock = ServerClock()
        let wall: Int64 = 1_755_525_850_000
        for date in [nil, "yesterday"] { _ = ServerClockTests.learn(&clock, date, at: wall) }
        #expect(!clock.isKnown(wallMilliseconds: wall))
        _ = ServerClockTests.learn(&clock, "Mon, 18 Aug 2025 14:04:10 GMT", at: wall)
        _ = ServerClockTests.learn(&clock, nil, at: wall + 1)
        #expect(clock.isKnown(wallMilliseconds: wall) && clock.isKnown(wallMilliseconds: wall + 3_599_999))
        #expect(!clock.isKnown(wallMilliseconds: wall + 3_600_000) && !clock.isKnown(wallMilliseconds: wall - 1))
    }

    @Test("a clock that is wrong by hours is put right by the first reply, and only news deserves another try")
    func offset() {
        var clock = ServerClock()
        let date = "Mon, 18 Aug 2025 14:04:10 GMT"
        let wall: Int64 = 1_755_525_850_000 - 5 * 3600 * 1000
        func isNews(_ date: String?, at wallMilliseconds: Int64) -> Bool {
            ServerClockTests.learn(&clock, date, at: wallMilliseconds)
        }
        #expect(isNews(date, at: wall))
        #expect(clock.now(wallMilliseconds: wall) == 1_755_525_850_000)
        #expect(!isNews(date, at: wall + 900) && !isNews("yesterday", at: wall) && !isNews(nil, at: 0))
        #expect(clock.offsetMilliseconds == 5 * 3600 * 1000)
        #expect(isNews(date, at: 1_755_525_850_400), "our own clock was set right")
        #expect(clock.offsetMilliseconds == 0)
    }

    @Test("a difference of a second is the age of the reply")
    func tolerance() {
        var clock = ServerClock()
        let isNews = ServerClockTests.learn(&clock, "Mon, 18 Aug 2025 14:04:10 GMT", at: 1_755_525_852_000)
        #expect(!isNews && clock.offsetMilliseconds == 0)
    }
}
