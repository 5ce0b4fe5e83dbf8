// The events that `verify` and `report` wait for, their intermediate output, and their end.

import DNSWire
import LinuxIO
import Resolver
import Settings
import Testing

@testable import Daemon

struct PendingProbeTests {
    private let name: Name
    private let other: Name
    private let start = Clock.now()
    private let first: ProbeTarget
    private let second: ProbeTarget
    private let good = ProbeResult(.verified)
    private let bad = ProbeResult(.refused)

    init() throws {
        name = try #require(Name("a.example"))
        other = try #require(Name("b.example"))
        first = ProbeTarget(name, .v4(0xC000_0201), port: 443)
        second = ProbeTarget(name, .v4(0xC000_0202), port: 443)
    }

    private func finding(_ target: ProbeTarget, _ result: ProbeResult) -> PendingProbe.Finding {
        PendingProbe.Finding(target: target, result: result)
    }

    private func at(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }

    @Test("verify probes all that is known, says each finding as it comes, and ends with the last one")
    func verify() {
        var pending = PendingProbe(.verify, of: name)
        #expect(pending.begin(known: [first, second], now: start) == [.probe([first.address, second.address])])
        #expect(pending.nextDeadline == at(25_000))
        #expect(pending.take(.found(second, bad), now: start) == [.found(finding(second, bad))])
        #expect(pending.take(.found(second, bad), now: start).isEmpty, "once is enough")
        let all = [finding(second, bad), finding(first, good)]
        #expect(pending.take(.found(first, good), now: start) == [.found(finding(first, good)), .end(.found(all))])
        #expect(pending.nextDeadline == nil && pending.take(.found(first, bad), now: start).isEmpty)
        #expect(pending.timePassed(known: [first], isLookedUp: false, now: at(60_000)).isEmpty)
    }

    @Test("the lookup of the other family is awaited, for a while")
    func bothFamilies() {
        let six = ProbeTarget(name, .v6(high: 0x2001_0DB8_0000_0000, low: 1), port: 443)
        var pending = PendingProbe(.verify, of: name)
        #expect(pending.begin(known: [], now: start) == [.resolve])
        for time in stride(from: 100, through: 700, by: 100) {
            #expect(pending.timePassed(known: [first], isLookedUp: true, now: at(time)).isEmpty)
        }
        var silent = pending
        #expect(pending.timePassed(known: [first, six], isLookedUp: false, now: at(800)).isEmpty)
        #expect(
            pending.timePassed(known: [first, six], isLookedUp: false, now: at(900))
                == [.probe([first.address, six.address])])
        for time in stride(from: 800, through: 1900, by: 100) {
            #expect(silent.timePassed(known: [first], isLookedUp: true, now: at(time)).isEmpty)
        }
        #expect(silent.timePassed(known: [first], isLookedUp: true, now: at(2000)) == [.probe([first.address])])
    }

    @Test("if all known addresses are mismatched, verify awaits the verified address of another source")
    func addressOfAnotherSource() {
        var pending = PendingProbe(.verify, of: name)
        let mismatched = ProbeResult(.nameMismatch)
        let third = ProbeTarget(name, .v4(0xC000_0203), port: 443)
        _ = pending.begin(known: [first], now: start)
        #expect(pending.take(.found(first, mismatched), now: at(10)) == [.found(finding(first, mismatched))])
        #expect(pending.nextDeadline == at(2010))
        let elsewhere = ProbeTarget(other, second.address, port: 443)
        #expect(pending.take(.found(first, good), now: at(20)).isEmpty, "it has a result")
        #expect(pending.take(.found(elsewhere, good), now: at(20)).isEmpty)
        #expect(pending.take(.refused(name, second.address, .overload), now: at(20)).isEmpty)
        #expect(pending.take(.found(third, bad), now: at(20)) == [.found(finding(third, bad))])
        let all = [finding(first, mismatched), finding(third, bad), finding(second, good)]
        var atDeadline = pending
        #expect(pending.take(.found(second, good), now: at(30)) == [.found(all[2]), .end(.found(all))])
        #expect(atDeadline.timePassed(known: [first, third], isLookedUp: false, now: at(2009)).isEmpty)
        #expect(
            atDeadline.timePassed(known: [first, third], isLookedUp: false, now: at(2010)) == [
                .end(.found(Array(all.prefix(2))))
            ])
        #expect(atDeadline.nextDeadline == nil)
    }

    @Test("verify awaits no other source if an address is verified, and a report never does")
    func noOtherSource() {
        var pending = PendingProbe(.verify, of: name)
        let mismatched = ProbeResult(.untrusted)
        _ = pending.begin(known: [first, second], now: start)
        _ = pending.take(.found(first, good), now: start)
        let all = [finding(first, good), finding(second, mismatched)]
        #expect(pending.take(.found(second, mismatched), now: start).last == .end(.found(all)))
        pending = PendingProbe(.report(first.address), of: name)
        _ = pending.begin(known: [first], now: start)
        #expect(
            pending.take(.found(first, mismatched), now: start).last == .end(.found([finding(first, mismatched)])))
    }

    @Test("news of other names, addresses and ports change nothing")
    func othersNews() {
        var pending = PendingProbe(.verify, of: name)
        _ = pending.begin(known: [first], now: start)
        for target in [
            second, ProbeTarget(other, first.address, port: 443), ProbeTarget(name, first.address, port: 8443),
        ] {
            #expect(pending.take(.found(target, good), now: start).isEmpty)
        }
        #expect(pending.take(.refused(other, first.address, .overload), now: start).isEmpty)
        #expect(pending.take(.refused(other, first.address, .disabled), now: start).isEmpty)
        #expect(pending.take(.refused(name, second.address, .disabled), now: start).isEmpty)
        #expect(pending.nextDeadline == at(25_000))
    }

    @Test("a name without a known address is resolved, and probed when two looks have seen the same")
    func lookUp() {
        var pending = PendingProbe(.verify, of: name)
        #expect(pending.begin(known: [], now: start) == [.resolve])
        #expect(pending.nextDeadline == at(100))
        #expect(pending.timePassed(known: [first], isLookedUp: false, now: at(99)).isEmpty, "not due yet")
        #expect(
            pending.timePassed(known: [], isLookedUp: false, now: at(100)).isEmpty && pending.nextDeadline == at(200))
        #expect(pending.timePassed(known: [first], isLookedUp: false, now: at(200)).isEmpty)
        #expect(
            pending.timePassed(known: [second, first], isLookedUp: false, now: at(300)).isEmpty,
            "the other family has come")
        #expect(
            pending.timePassed(known: [first, second], isLookedUp: false, now: at(400)) == [
                .probe([first.address, second.address])
            ])
        #expect(pending.nextDeadline == at(25_400))
    }

    @Test("news that come while a name is being resolved are not waited for")
    func earlyNews() {
        var pending = PendingProbe(.verify, of: name)
        _ = pending.begin(known: [], now: start)
        #expect(pending.take(.found(first, good), now: start).isEmpty && pending.nextDeadline == at(100))
    }

    @Test("after 5 s a name without an address is given up, and one that has just got some is probed")
    func lookUpEnds() {
        for (known, last) in [([], .end(.unknown)), ([first], .probe([first.address]))]
            as [([ProbeTarget], PendingProbe.Step)]
        {
            var pending = PendingProbe(.verify, of: name)
            _ = pending.begin(known: [], now: start)
            var looks = 0
            while let deadline = pending.nextDeadline, deadline < at(5_000) {
                #expect(pending.timePassed(known: [], isLookedUp: false, now: deadline).isEmpty)
                looks += 1
            }
            #expect(looks == 49)
            #expect(pending.timePassed(known: known, isLookedUp: false, now: at(5_000)) == [last])
        }
    }

    @Test("after 25 s without news what has no result is named, and what has one counts")
    func timeOut() {
        var pending = PendingProbe(.verify, of: name)
        _ = pending.begin(known: [first, second], now: at(-24_000))
        _ = pending.take(.found(first, good), now: start)
        #expect(pending.timePassed(known: [first, second], isLookedUp: false, now: at(24_999)).isEmpty)
        #expect(
            pending.timePassed(known: [first, second], isLookedUp: false, now: at(25_000))
                == [.noResult(second), .end(.found([finding(first, good)]))])
        #expect(pending.nextDeadline == nil)
    }

    @Test("a probe that waits for the two before it, with the longest time-out there is, is waited for")
    func longestTimeOut() {
        var pending = PendingProbe(.verify, of: name)
        _ = pending.begin(known: [first], now: start)
        let end = start + Settings.Probe.timeouts.upperBound * 2 + .seconds(1)
        #expect(pending.timePassed(known: [first], isLookedUp: false, now: end).isEmpty)
        #expect(pending.take(.found(first, bad), now: end).last == .end(.found([finding(first, bad)])))
    }

    @Test("an address that is not probed is named, all its ports are done with, and probes that are off end it at once")
    func refusals() {
        let port = ProbeTarget(name, first.address, port: 8443)
        var pending = PendingProbe(.verify, of: name)
        _ = pending.begin(known: [first, port, second], now: start)
        #expect(
            pending.take(.refused(name, first.address, .notPublic), now: start) == [
                .notProbed(first.address, .notPublic)
            ])
        let all = [finding(second, bad)]
        #expect(pending.take(.found(second, bad), now: start) == [.found(all[0]), .end(.found(all))])
        pending = PendingProbe(.verify, of: name)
        _ = pending.begin(known: [first, second], now: start)
        #expect(pending.take(.refused(name, second.address, .disabled), now: start) == [.end(.refused(.disabled))])
        #expect(pending.take(.refused(name, first.address, .disabled), now: start).isEmpty)
    }

    @Test("a report is about an address that an answer has led to, on each of its ports, and nothing else")
    func report() {
        let port = ProbeTarget(name, first.address, port: 8443)
        var pending = PendingProbe(.report(first.address), of: name)
        #expect(pending.begin(known: [second], now: start) == [.end(.unknown)] && pending.nextDeadline == nil)
        pending = PendingProbe(.report(first.address), of: name)
        #expect(pending.begin(known: [], now: start) == [.end(.unknown)], "it resolves nothing")
        pending = PendingProbe(.report(first.address), of: name)
        #expect(pending.begin(known: [second, first, port], now: start) == [.probe([first.address])])
        #expect(pending.take(.found(second, bad), now: start).isEmpty)
        #expect(pending.take(.found(port, bad), now: start) == [.found(finding(port, bad))])
        let all = [finding(port, bad), finding(first, good)]
        #expect(pending.take(.found(first, good), now: start).last == .end(.found(all)))
    }

    @Test("a report that leads to no probe is refused, and one without a result ends after 25 s")
    func reportEnds() {
        for reason in ProbeRefusal.allCases {
            var pending = PendingProbe(.report(first.address), of: name)
            _ = pending.begin(known: [first], now: start)
            #expect(pending.take(.refused(name, first.address, reason), now: start) == [.end(.refused(reason))])
        }
        var pending = PendingProbe(.report(first.address), of: name)
        _ = pending.begin(known: [first], now: start)
        #expect(pending.timePassed(known: [first], isLookedUp: false, now: at(25_000)).last == .end(.found([])))
    }
}

@Suite("Report allowance")
struct ReportAllowanceTests {
    private let start = Clock.now()

    @Test("ten reports at once, then one a second, and a pause saves up to ten again")
    func pace() {
        var allowance = ReportAllowance()
        func taken(_ count: Int, at seconds: Double) -> Int {
            (0..<count).count { _ in allowance.take(userID: 7, now: start + .seconds(seconds)) }
        }
        #expect(taken(15, at: 0) == 10)
        #expect(taken(1, at: 0.9) == 0)
        #expect(taken(3, at: 1) == 1)
        #expect(taken(9, at: 4) == 3)
        #expect(taken(15, at: 3_600) == 10)
    }

    @Test("each user has an own allowance")
    func users() {
        var allowance = ReportAllowance()
        for _ in 0..<10 { _ = allowance.take(userID: 7, now: start) }
        let taken = [7, 8].map { allowance.take(userID: $0, now: start) }
        #expect(taken == [false, true])
    }

    @Test("with a full table, a new user waits until an entry has expired")
    func bound() {
        var allowance = ReportAllowance()
        let users = UInt32(ReportAllowance.maxUsers)
        for user in 0..<users {
            let isTaken = allowance.take(userID: user, now: start)
            #expect(isTaken)
        }
        let taken = [(users, 999), (0, 999), (users, 1_000)].map { (user: UInt32, milliseconds: Int) in
            allowance.take(userID: user, now: start + .milliseconds(milliseconds))
        }
        #expect(taken == [false, true, true], "who has a place keeps it")
    }
}
