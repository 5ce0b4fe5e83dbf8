// The reports of this machine's public address that indicate another carrier. A lying provider alone changes nothing.

import DNSWire
import TestSupport
import Testing

@testable import Network

struct ExitReportsTests {
    private let start = Instant.testStart
    private let home = "203.0.113.7"
    private let homePrefix = Prefix("203.0.0.0/16")
    private let mobile = "198.51.100.9"
    private let mobilePrefix = Prefix("198.51.0.0/16")

    private func at(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }

    private func report(
        _ text: String, by provider: Int, at milliseconds: Int, to reports: inout ExitReports
    ) throws -> Prefix? {
        reports.reported(try #require(Address(text)), by: provider, now: at(milliseconds))?.prefix
    }

    /// Reports on a network whose carrier is known.
    private func reports() throws -> ExitReports {
        var reports = ExitReports(now: start)
        var carrier = Carrier()
        carrier.set(try #require(homePrefix))
        reports.entered(carrier, isOtherCarrier: false, now: start)
        return reports
    }

    @Test("the first confirmed prefix of each family completes the carrier, and is no change")
    func completion() throws {
        var reports = ExitReports(now: start)
        for (time, text) in [(0, "203.0.0.1"), (1, "2001:db8::1"), (1999, home)] {
            #expect(try report(text, by: 1, at: time, to: &reports) == nil && reports.carrier.prefixes.isEmpty)
        }
        #expect(try report(home, by: 1, at: 2000, to: &reports) == nil)
        #expect(reports.carrier.prefixes == [homePrefix])
        #expect(try report("2001:db8:ffff::2", by: 2, at: 2001, to: &reports) == nil)
        #expect(reports.carrier.prefixes == [homePrefix, Prefix("2001:db8::/32")])
        #expect(reports.current.map(\.address.description) == ["2001:db8::1", home, "2001:db8:ffff::2"])
    }

    @Test("another carrier is confirmed by two providers at once")
    func twoProviders() throws {
        var reports = try reports()
        #expect(try report(home, by: 1, at: 0, to: &reports) == nil)
        #expect(try report(mobile, by: 1, at: 1000, to: &reports) == nil)
        #expect(try report("198.51.7.1", by: 2, at: 1001, to: &reports) == mobilePrefix)
    }

    @Test("another carrier is confirmed by all replies of a single provider within 2 s")
    func singleProvider() throws {
        var reports = try reports()
        #expect(try report(mobile, by: 1, at: 1000, to: &reports) == nil)
        #expect(try report(mobile, by: 1, at: 2999, to: &reports) == nil)
        #expect(try report(mobile, by: 1, at: 3000, to: &reports) == mobilePrefix)
    }

    @Test("one odd reply, and one of the same carrier, change nothing")
    func oddReply() throws {
        var reports = try reports()
        for second in 0..<60 {
            let text = second % 3 == 1 ? mobile : "203.0.\(second).1"
            #expect(try report(text, by: 1, at: second * 1000, to: &reports) == nil)
        }
        #expect(reports.carrier.prefixes == [homePrefix])
    }

    @Test("a provider that lies does not move the network, whether it reports one prefix or random ones")
    func liar() throws {
        var random = SeededRandom(seed: 7)
        for isRandom in [false, true] {
            var reports = try reports()
            for second in 0..<600 {
                let lie = isRandom ? "\(random.next() % 100 + 11).\(random.next() % 256).0.1" : mobile
                for offset in [0, 100, 200] {
                    #expect(try report(lie, by: 9, at: second * 1000 + offset, to: &reports) == nil)
                }
                #expect(try report(home, by: 1, at: second * 1000 + 300, to: &reports) == nil)
            }
            #expect(reports.carrier.prefixes == [homePrefix])
        }
    }

    @Test("a liar that answers nearly everything moves no network while others report the present carrier now and then")
    func preferredLiar() throws {
        var reports = try reports()
        #expect(try report(home, by: 9, at: 0, to: &reports) == nil)
        for provider in [1, 2] { #expect(try report(home, by: provider, at: provider, to: &reports) == nil) }
        for tenth in 1..<9000 {
            #expect(try report("11.1.0.\(tenth % 200)", by: 9, at: tenth * 100, to: &reports) == nil)
            if tenth % 1000 == 0 { #expect(try report(home, by: 1, at: tenth * 100 + 1, to: &reports) == nil) }
        }
        #expect(reports.carrier.prefixes == [homePrefix])
    }

    @Test("a liar that has moved the network, alone at first, is outvoted after the hold and moves it no further")
    func returnFromLie() throws {
        var reports = ExitReports(now: start)
        var carrier = Carrier()
        carrier.set(try #require(mobilePrefix))
        reports.entered(carrier, isOtherCarrier: true, now: start)
        for second in 0..<300 {
            #expect(try report("22.2.0.1", by: 9, at: second * 1000, to: &reports) == nil)
            if second % 60 == 1 {
                for provider in [1, 2] {
                    #expect(try report(home, by: provider, at: second * 1000, to: &reports) == nil)
                }
            }
        }
        #expect(try report("22.2.0.1", by: 9, at: 300_000, to: &reports) == nil)
        #expect(try report(home, by: 1, at: 301_000, to: &reports) == homePrefix)
    }

    @Test("a provider that has contradicted the others does not move a network that is entered again")
    func liarAfterChange() throws {
        var reports = try reports()
        for second in 0..<10 {
            _ = try report(mobile, by: 9, at: second * 1000, to: &reports)
            _ = try report(home, by: 1, at: second * 1000 + 500, to: &reports)
        }
        reports.entered(reports.carrier, isOtherCarrier: false, now: at(20_000))
        for second in 20..<40 { #expect(try report(mobile, by: 9, at: second * 1000, to: &reports) == nil) }
        #expect(reports.current.map(\.provider) == [9])
    }

    @Test("beside a liar, a real change of the carrier is found by the others")
    func changeBesideLiar() throws {
        var reports = try reports()
        for second in 0..<10 {
            _ = try report("192.0.2.1", by: 9, at: second * 1000, to: &reports)
            _ = try report(home, by: 1, at: second * 1000 + 500, to: &reports)
        }
        #expect(try report(mobile, by: 1, at: 11_000, to: &reports) == nil)
        #expect(try report("192.0.2.1", by: 9, at: 12_000, to: &reports) == nil)
        #expect(try report(mobile, by: 1, at: 13_000, to: &reports) == mobilePrefix)
        // Two providers outvote one that always reports the former carrier.
        reports = try self.reports()
        #expect(try report(mobile, by: 1, at: 0, to: &reports) == nil)
        #expect(try report(home, by: 9, at: 1, to: &reports) == nil)
        #expect(try report(mobile, by: 1, at: 3000, to: &reports) == nil)
        #expect(try report(mobile, by: 2, at: 3001, to: &reports) == mobilePrefix)
    }

    @Test("a report of an earlier network agrees with nothing")
    func stale() throws {
        var reports = try reports()
        _ = try report(mobile, by: 2, at: 0, to: &reports)
        reports.entered(reports.carrier, isOtherCarrier: false, now: at(10_000))
        #expect(try report(home, by: 1, at: 10_001, to: &reports) == nil)
        #expect(try report(mobile, by: 1, at: 10_002, to: &reports) == nil)
        #expect(try report(mobile, by: 2, at: 10_003, to: &reports) == mobilePrefix)
    }

    @Test("two providers that disagree from the start decide nothing")
    func disagreement() throws {
        var reports = ExitReports(now: start)
        for second in 0..<10 {
            #expect(try report(mobile, by: 9, at: second * 1000, to: &reports) == nil)
            #expect(try report(home, by: 1, at: second * 1000 + 1, to: &reports) == nil)
        }
        #expect(reports.carrier.prefixes.isEmpty)
        #expect(try report(home, by: 2, at: 10_000, to: &reports) == nil)
        #expect(reports.carrier.prefixes == [homePrefix])
    }

    @Test("after a change of the carrier the next one waits for 5 min")
    func hold() throws {
        var reports = try reports()
        var carrier = Carrier()
        carrier.set(try #require(mobilePrefix))
        reports.entered(carrier, isOtherCarrier: true, now: start)
        for second in 0..<300 { #expect(try report(home, by: 1, at: second * 1000, to: &reports) == nil) }
        #expect(try report(home, by: 1, at: 300_000, to: &reports) == homePrefix)
    }

    @Test("what was learned since the last reply through the former carrier may be the other one's")
    func since() throws {
        var reports = try reports()
        _ = try report(home, by: 1, at: 5000, to: &reports)
        _ = try report(mobile, by: 1, at: 6000, to: &reports)
        let other = reports.reported(try #require(Address(mobile)), by: 2, now: at(7000))
        #expect(other == OtherCarrier(prefix: try #require(mobilePrefix), since: at(5000)))
        // If no reply came through the former carrier, everything since the start of this network counts.
        reports.entered(reports.carrier, isOtherCarrier: false, now: at(20_000))
        _ = try report(mobile, by: 1, at: 21_000, to: &reports)
        #expect(reports.reported(try #require(Address(mobile)), by: 2, now: at(22_000))?.since == at(20_000))
    }

    @Test("addresses that no carrier has are ignored")
    func privateAddresses() throws {
        var reports = ExitReports(now: start)
        for text in ["192.168.1.1", "127.0.0.1", "100.64.0.1", "0.0.0.0", "::1", "fe80::1", "fd00::1"] {
            for second in 0..<5 { #expect(try report(text, by: 1, at: second * 1000, to: &reports) == nil) }
        }
        #expect(reports.carrier.prefixes.isEmpty && reports.current.isEmpty)
    }

    @Test("one report of each provider and family is kept, of 64 at most")
    func bound() throws {
        var reports = ExitReports(now: start)
        for number in 0..<200 { _ = try report(home, by: number / 2, at: number, to: &reports) }
        #expect(reports.current.map(\.provider) == Array(36..<100))
    }
}
