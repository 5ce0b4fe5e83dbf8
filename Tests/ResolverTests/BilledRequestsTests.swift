// What a vendor bills, by day and month, across restarts and clocks that jump.

import DNSWire
import Testing

@testable import Resolver

@Suite("Billed requests")
struct BilledRequestsTests {
    private static let hour: Int64 = 3_600_000
    /// 2026-11-30 12:00 UTC.
    private static let noon: Int64 = 1_796_040_000_000

    private func counted(_ count: Int, at milliseconds: Int64 = noon) -> BilledRequests {
        var requests = BilledRequests(unixMilliseconds: milliseconds)
        requests.add(count, .client, unixMilliseconds: milliseconds)
        return requests
    }

    @Test("counts belong to a cause, a day and a month of UTC, and end with them")
    func periods() {
        var requests = counted(3)
        requests.add(2, .refresh, unixMilliseconds: Self.noon + 11 * Self.hour)
        #expect(requests.count(.day, .client) == 3 && requests.count(.day, .refresh) == 2)
        #expect(requests.total(.day) == 5 && requests.total(.month) == 5)
        #expect(requests.end(of: .day) == Self.noon + 12 * Self.hour)
        #expect(requests.end(of: .month) == Self.noon + 12 * Self.hour)
        requests.add(1, .hedge, unixMilliseconds: Self.noon + 12 * Self.hour)
        #expect(requests.total(.day) == 1 && requests.total(.month) == 1, "December")
        #expect(requests.end(of: .month) == Self.noon + 12 * Self.hour + 31 * 24 * Self.hour)
        requests.turn(to: Self.noon + 36 * Self.hour)
        #expect(requests.total(.day) == 0 && requests.total(.month) == 1)
    }

    @Test(
        "months have the days of the calendar",
        arguments: [
            (1_709_164_800, 1), (1_709_078_400, 2), (1_740_700_800, 1), (4_107_456_000, 1), (1_767_225_599, 1),
        ])
    func calendar(second: Int64, daysLeft: Int64) {
        // 2024-02-29 and -28, 2025-02-28, 2100-02-28, 2025-12-31.
        let requests = BilledRequests(unixMilliseconds: second * 1000)
        let day = second / 86_400
        #expect(requests.end(of: .month) == (day + daysLeft) * 86_400_000)
    }

    @Test("a clock that is set back or not set yet ends no period, and one that is set right ends them once")
    func clock() {
        var requests = counted(3)
        requests.add(1, .client, unixMilliseconds: Self.noon - 24 * Self.hour)
        #expect(requests.total(.day) == 4)
        requests.add(1, .client, unixMilliseconds: 5000)
        #expect(requests.total(.day) == 5, "1970: not set yet")
        requests.add(1, .client, unixMilliseconds: Self.noon - 24 * Self.hour)
        #expect(requests.total(.day) == 6)
        requests.turn(to: Self.noon)
        #expect(requests.total(.day) == 0 && requests.total(.month) == 6)
    }

    @Test("the text is read back, and other text is not")
    func text() {
        var requests = counted(3)
        requests.add(7, .measurement, unixMilliseconds: Self.noon)
        #expect(
            BilledRequests(text: requests.text) == BilledRequests(text: BilledRequests(text: requests.text)?.text ?? "")
        )
        #expect(BilledRequests(text: requests.text)?.total(.month) == 10)
        for text in [
            "", "x", "20787", "20787 day 1 2 3 month 1 2 3 4", requests.text + " 1", "-1" + requests.text,
            requests.text.replacing("3", with: "-3"), requests.text.replacing("7", with: "99999999999999999999"),
        ] {
            #expect(BilledRequests(text: text) == nil, "\(text)")
        }
    }

    @Test("counts of an earlier life are added as far as their periods last")
    func earlier() {
        var requests = counted(1)
        requests.add(counted(5, at: Self.noon - 11 * Self.hour))
        #expect(requests.total(.day) == 6 && requests.total(.month) == 6)
        requests.add(counted(5, at: Self.noon - 24 * Self.hour))
        #expect(requests.total(.day) == 6 && requests.total(.month) == 11)
        requests.add(counted(5, at: Self.noon - 31 * 24 * Self.hour))
        #expect(requests.total(.month) == 11, "October")
    }

    @Test("counts of an earlier life go on at a start before the clock is set")
    func earlierThanClock() {
        var requests = BilledRequests(unixMilliseconds: 5000)
        requests.add(counted(5))
        requests.add(1, .client, unixMilliseconds: 6000)
        requests.turn(to: Self.noon + Self.hour)
        #expect(requests.total(.day) == 6 && requests.total(.month) == 6)
    }

    @Test("a quota is nearly used from 80 % and used up from 100 % on")
    func levels() {
        let levels = [79, 80, 99, 100, 101].map { counted($0).level(of: .init(100, per: .month)) }
        #expect(levels == [.free, .nearlyUsed, .nearlyUsed, .usedUp, .usedUp])
        #expect(counted(1).level(of: .init(1, per: .day)) == .usedUp)
        #expect(counted(0).level(of: .init(1, per: .day)) == .free)
    }
}
