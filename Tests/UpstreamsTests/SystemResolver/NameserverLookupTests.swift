// A lookup at the system's nameservers on virtual time: the queried servers, the accepted replies, and its end in every
// case.

import DNSWire
import Resolver
import TestSupport
import Testing

@testable import Upstreams

struct NameserverLookupTests {
    @Test("a reply from the first server ends the lookup and closes its socket")
    func plain() {
        var run = NameserverRun(servers: 2)
        run.start()
        #expect(run.log == ["0ms datagram 0 to a"])
        run.advance(20)
        run.receive(0, .addresses)
        #expect(run.log.suffix(2) == ["20ms close 0", "20ms answer records"])
        #expect(run.lookup.nextDeadline == nil)
    }

    @Test("NXDOMAIN and NODATA are answers", arguments: [NameserverRun.Reply.noSuchName, .noData])
    func negative(reply: NameserverRun.Reply) {
        var run = NameserverRun(servers: 2)
        run.start()
        run.receive(0, reply)
        #expect(run.log.last == "0ms answer \(reply)")
    }

    @Test(
        "a server that does not know EDNS is asked again without it",
        arguments: [NameserverRun.Reply.formatError, .bareFormatError])
    func withoutEDNS(reply: NameserverRun.Reply) {
        var run = NameserverRun(servers: 2)
        run.start()
        run.receive(0, reply)
        #expect(run.log == ["0ms datagram 0 to a", "0ms close 0", "0ms datagram 1 to a"])
        #expect(run.hadEDNS == [true, false])
        run.receive(1, .addresses)
        #expect(run.log.last == "0ms answer records")
    }

    @Test("FORMERR to a query without EDNS is a failure of that server")
    func formatErrorTwice() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.receive(0, .formatError)
        run.receive(1, .formatError)
        #expect(run.log.suffix(2) == ["0ms close 1", "0ms datagram 2 to b"])
        #expect(run.hadEDNS == [true, false, true])
    }

    @Test("a server with TLS is asked over a stream only, padded, and the next one follows")
    func secure() {
        var run = NameserverRun(servers: 2, withTLS: true)
        run.start()
        #expect(run.log == ["0ms stream 0 to a"])
        #expect(run.queryBytes == [UpstreamQuery.paddingBlockBytes])
        run.advance(1999)
        #expect(run.log.count == 1)
        run.advance(1)
        #expect(run.log.last == "2000ms stream 1 to b")
        run.receive(1, .truncated)
        run.receive(0, .addresses)
        #expect(run.log.last == "2000ms answer records")
    }

    @Test("a stream without EDNS stays a stream")
    func streamWithoutEDNS() {
        var run = NameserverRun(servers: 1)
        run.start()
        run.receive(0, .truncated)
        run.receive(1, .formatError)
        #expect(run.log.last == "0ms stream 2 to a")
        #expect(run.hadEDNS == [true, true, false])
    }

    @Test("wrong replies are counted and never end the wait")
    func foreign() {
        var run = NameserverRun(servers: 2)
        run.start()
        for reply in [NameserverRun.Reply.otherID, .otherName, .ourOwnQuery, .junk] { run.receive(0, reply) }
        #expect(run.log == ["0ms datagram 0 to a"])
        #expect(run.lookup.foreignReplies == 4)
        run.receive(0, .addresses)
        #expect(run.log.last == "0ms answer records")
    }

    /// Sends so many wrong replies that the lookup also uses a stream.
    private func attack(_ run: inout NameserverRun, count: Int = 10) {
        for _ in 0..<count { run.receive(0, .otherID) }
    }

    @Test("the true reply among many wrong ones is taken while the stream is tried, and closes it")
    func trueReplyUnderAttack() {
        var run = NameserverRun(servers: 2)
        run.start()
        attack(&run, count: 1000)
        #expect(run.log == ["0ms datagram 0 to a", "0ms stream 1 to a"])
        run.advance(30)
        run.receive(0, .addresses)
        #expect(run.log.suffix(3) == ["30ms close 0", "30ms close 1", "30ms answer records"])
    }

    @Test("the stream's reply is taken if it comes first")
    func streamUnderAttack() {
        var run = NameserverRun(servers: 2)
        run.start()
        attack(&run)
        run.receive(1, .addresses)
        #expect(run.log.suffix(3) == ["0ms close 0", "0ms close 1", "0ms answer records"])
    }

    @Test("a server without TCP is still waited for under attack as long as it is otherwise")
    func noStreamUnderAttack() {
        var run = NameserverRun(servers: 2)
        run.start()
        attack(&run)
        run.advance(20)
        run.fail(1, .refused)
        run.advance(979)
        #expect(run.log.last == "20ms close 1")
        run.advance(1)
        #expect(run.log.last == "1000ms datagram 2 to b")
        run.receive(0, .addresses)
        #expect(run.log.last == "1000ms answer records")
    }

    @Test("the only server without TCP is listened to until the end, and asked again")
    func onlyServerUnderAttack() {
        var run = NameserverRun(servers: 1)
        run.start()
        attack(&run)
        run.fail(1, .refused)
        run.advance(1000)
        #expect(run.log.last == "1000ms datagram 2 to a")
        run.receive(0, .addresses)
        #expect(run.log.last == "1000ms answer records")
    }

    @Test("wrong replies do not prolong the wait either")
    func foreignDeadline() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.advance(900)
        let deadline = run.lookup.nextDeadline
        run.receive(0, .otherID)
        #expect(run.lookup.nextDeadline == deadline)
    }

    @Test("the ninth wrong reply moves the question to a stream")
    func flood() {
        var run = NameserverRun(servers: 2)
        run.start()
        for _ in 0..<8 { run.receive(0, .otherID) }
        #expect(run.log.count == 1)
        run.receive(0, .otherID)
        #expect(run.log == ["0ms datagram 0 to a", "0ms stream 1 to a"])
        run.receive(1, .addresses)
        #expect(run.log.last == "0ms answer records")
    }

    @Test("TC goes to the same server over a stream, where id and question are checked too")
    func truncated() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.receive(0, .truncated)
        #expect(run.log.suffix(2) == ["0ms close 0", "0ms stream 1 to a"])
        run.receive(1, .otherID)
        run.receive(1, .otherName)
        #expect(run.log.count == 3)
        run.receive(1, .addresses)
        #expect(run.log.last == "0ms answer records")
    }

    @Test("TC over a stream is a failure of that server")
    func truncatedStream() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.receive(0, .truncated)
        run.receive(1, .truncated)
        #expect(run.log.suffix(2) == ["0ms close 1", "0ms datagram 2 to b"])
    }

    @Test("a forged TC does not open a stream")
    func forgedTruncation() {
        var run = NameserverRun(servers: 1)
        run.start()
        run.receive(0, .truncatedOtherID)
        #expect(run.log == ["0ms datagram 0 to a"])
    }

    @Test(
        "a server that fails is left at once, and not asked again",
        arguments: [NameserverRun.Reply.serverFailure, .refused, .referral, .malformed])
    func serverFailure(reply: NameserverRun.Reply) {
        var run = NameserverRun(servers: 2)
        run.start()
        run.receive(0, reply)
        run.receive(1, reply)
        let end =
            switch reply {
            case .serverFailure: "replied SERVFAIL"
            case .refused: "replied REFUSED"
            case .malformed: "failed garbage"
            default: "failed server"
            }
        #expect(
            run.log == [
                "0ms datagram 0 to a", "0ms close 0", "0ms datagram 1 to b", "0ms close 1", "0ms \(end)",
            ])
    }

    @Test("a refused datagram leads to the next server, and to TCP, at once")
    func refused() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.fail(0, .refused)
        #expect(run.log.suffix(3) == ["0ms close 0", "0ms stream 1 to a", "0ms datagram 2 to b"])
        run.fail(1, .refused)
        run.fail(2, .unreachable)
        #expect(run.log.suffix(2) == ["0ms close 2", "0ms stream 3 to b"])
        run.fail(3, .unreachable)
        #expect(run.log.last == "0ms failed unreachable")
    }

    @Test("silent servers are asked in two rounds, the second more patiently, until the deadline")
    func silence() {
        var run = NameserverRun(servers: 2, withinMilliseconds: 4500)
        run.start()
        run.runToTheEnd()
        #expect(
            run.log == [
                "0ms datagram 0 to a", "1000ms stream 1 to a", "1000ms datagram 2 to b", "2000ms stream 3 to b",
                "2000ms datagram 4 to a", "4000ms datagram 5 to b",
            ] + (0..<6).map { "4500ms close \($0)" } + ["4500ms failed timeout"])
    }

    @Test("after the second round late replies are still waited for")
    func lingering() {
        var run = NameserverRun(servers: 1, withinMilliseconds: 10_000)
        run.start()
        run.advance(5000)
        #expect(run.log == ["0ms datagram 0 to a", "1000ms stream 1 to a", "1000ms datagram 2 to a"])
        run.receive(0, .addresses)
        #expect(run.log.last == "5000ms answer records")
    }

    @Test("a late reply of an earlier server wins when it comes first")
    func late() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.advance(1500)
        run.receive(0, .addresses)
        #expect(run.log.suffix(2) == ["1500ms close 2", "1500ms answer records"])
    }

    @Test("a late failure of an earlier server does not hurry the present one")
    func lateFailure() {
        var run = NameserverRun(servers: 3)
        run.start()
        run.advance(1500)
        run.receive(0, .serverFailure)
        #expect(run.log.last == "1500ms close 0")
        run.advance(500)
        #expect(run.log.last == "2000ms datagram 4 to c")
    }

    @Test("without servers the lookup fails at once")
    func nobody() {
        var run = NameserverRun(servers: 0)
        run.start()
        #expect(run.log == ["0ms failed unreachable"])
    }

    @Test("events after the end and for unknown sockets are ignored")
    func afterTheEnd() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.fail(17, .refused)
        run.receive(0, .addresses)
        let log = run.log
        run.receive(0, .addresses)
        run.fail(0, .reset)
        run.advance(9000)
        #expect(run.log == log)
    }

    @Test("every try has an id of its own, spread over all 65,536")
    func freshIDs() {
        var ids: Set<UInt16> = []
        for seed in 0..<500 {
            var run = NameserverRun(servers: 2, seed: UInt64(seed))
            run.start()
            run.advance(4000)
            ids.formUnion(run.queryIDs)
        }
        // 3,000 draws from 65,536 repeat about 70 times.
        #expect(ids.count > 2800)
        #expect(ids.contains { $0 < 1000 } && ids.contains { $0 > 64_000 })
    }

    @Test("whatever happens, each socket is closed once, the end comes once and in time", arguments: 0..<300)
    func randomLife(seed: UInt64) {
        var chance = SeededRandom(seed: seed)
        var run = NameserverRun(servers: Int.random(in: 0...9, using: &chance), seed: seed)
        run.start()
        for _ in 0..<80 {
            let id = Int.random(in: 0...max(0, run.opened), using: &chance)
            switch Int.random(in: 0..<10, using: &chance) {
            case 0...5:
                run.receive(
                    id, NameserverRun.Reply.allCases.filter { !$0.isAnswer }.randomElement(using: &chance) ?? .junk)
            case 6: run.fail(id, FetchFailure.allCases.randomElement(using: &chance) ?? .reset)
            case 7 where Int.random(in: 0..<8, using: &chance) == 0: run.receive(id, .addresses)
            default: run.advance(Int.random(in: 0...700, using: &chance))
            }
        }
        run.runToTheEnd()
        #expect(run.elapsedMilliseconds <= 80 * 700 + 4500, "seed \(seed)")
        #expect(run.closed.sorted() == Array(0..<run.opened), "seed \(seed)")
        // Each of at most eight servers gets two rounds of three queries: with EDNS, without it, and over TCP.
        #expect(run.opened <= 3 * 2 * 8)
        #expect(run.results == 1, "seed \(seed)")
        #expect(run.endedAtMilliseconds <= 4500, "seed \(seed)")
    }
}
