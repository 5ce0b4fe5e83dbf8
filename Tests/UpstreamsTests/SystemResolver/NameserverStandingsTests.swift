// The effect of one lookup on the next: nameservers that do not reply, or over TCP only. Time is virtual.

import DNSWire
import Resolver
import TestSupport
import Testing

@testable import Upstreams

@Suite("Standings of nameservers")
struct NameserverStandingsTests {
    /// The standings of two servers, of which the first is silent and the second replies.
    private func firstSilent(withTLS: Bool = false) -> NameserverStandings {
        var run = NameserverRun(servers: 2, withTLS: withTLS)
        run.start()
        run.advance(2000)
        run.receive(withTLS ? 1 : 2, .addresses)
        #expect(run.results == 1)
        return run.standings
    }

    /// The standings of a server that replies over TCP only.
    private func onlyTCP() -> NameserverStandings {
        var run = NameserverRun(servers: 1)
        run.start()
        run.advance(1000)
        run.receive(1, .addresses)
        #expect(run.log.last == "1000ms answer records")
        return run.standings
    }

    private func firstStep(
        _ servers: Int = 2, after standings: NameserverStandings, atSeconds: Int64 = 3, isTest: Bool = false
    ) -> String? {
        var run = NameserverRun(servers: servers, after: standings, atSeconds: atSeconds, isTest: isTest)
        run.start()
        return run.log.first
    }

    @Test("a silent server costs one question its time, and then the other one is asked first")
    func silentFirst() {
        #expect(firstStep(after: firstSilent()) == "0ms datagram 0 to b")
        var run = NameserverRun(servers: 2, withTLS: true, after: firstSilent(withTLS: true), atSeconds: 3)
        run.start()
        #expect(run.log == ["0ms stream 0 to b"])
    }

    @Test("a server whose port is closed is asked last too")
    func refusedFirst() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.fail(0, .refused)
        run.fail(1, .refused)
        run.receive(2, .noSuchName)
        #expect(firstStep(after: run.standings) == "0ms datagram 0 to b")
    }

    @Test("one that is silent is tested beside a question every ten seconds, and used again after a reply")
    func tests() {
        var standings = firstSilent()
        let silentAt: Int64 = 2
        let servers = (0..<2).map { Nameserver(.v4(0xC000_0200 + UInt32($0))) }
        func due(_ seconds: Int64) -> Int {
            standings.takeDueTests(of: servers, now: .testStart + .seconds(seconds)).count
        }
        #expect(due(silentAt + 9) == 0)
        #expect(due(silentAt + 10) == 1)
        #expect(due(silentAt + 11) == 0)
        var test = NameserverRun(servers: 2, after: standings, atSeconds: silentAt + 20, isTest: true)
        test.start()
        #expect(test.log == ["0ms datagram 0 to a"])
        test.receive(0, .addresses)
        standings = test.standings
        #expect(firstStep(after: standings, atSeconds: 23) == "0ms datagram 0 to a")
        #expect(due(60) == 0)
    }

    @Test("if the other one falls silent, the first answers, and is the first again")
    func swapped() {
        var run = NameserverRun(servers: 2, after: firstSilent(), atSeconds: 3)
        run.start()
        run.advance(1000)
        #expect(run.log.last == "1000ms datagram 2 to a")
        run.receive(2, .addresses)
        #expect(firstStep(after: run.standings, atSeconds: 5) == "0ms datagram 0 to a")
    }

    @Test("two of three that are silent are both asked last")
    func twoOfThree() {
        var run = NameserverRun(servers: 3)
        run.start()
        run.advance(2000)
        run.receive(4, .addresses)
        #expect(firstStep(3, after: run.standings) == "0ms datagram 0 to c")
    }

    @Test("a question that no server answers says nothing of them")
    func slowName() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.runToTheEnd()
        #expect(firstStep(after: run.standings, atSeconds: 5) == "0ms datagram 0 to a")
        var standings = run.standings
        #expect(standings.takeNews().isEmpty)
    }

    @Test("an error is a reply: the server stays the first")
    func errors() {
        var run = NameserverRun(servers: 2)
        run.start()
        run.receive(0, .serverFailure)
        run.receive(1, .addresses)
        #expect(firstStep(after: run.standings) == "0ms datagram 0 to a")
    }

    @Test("TCP is tried after the first silence over UDP, and remembered")
    func blockedUDP() {
        let standings = onlyTCP()
        #expect(firstStep(1, after: standings) == "0ms stream 0 to a")
        #expect(firstStep(2, after: standings) == "0ms stream 0 to a")
    }

    @Test("TCP is tried at once if the datagram is rejected", arguments: [FetchFailure.refused, .unreachable])
    func rejectedUDP(failure: FetchFailure) {
        var run = NameserverRun(servers: 1)
        run.start()
        run.fail(0, failure)
        #expect(run.log.last == "0ms stream 1 to a")
        run.receive(1, .addresses)
        #expect(firstStep(1, after: run.standings) == "0ms stream 0 to a")
    }

    @Test("UDP is tested beside a question later, once, and used again after a reply")
    func udpAgain() {
        let standings = onlyTCP()
        #expect(firstStep(1, after: standings, atSeconds: 10, isTest: true) == "0ms failed unreachable")
        var test = NameserverRun(servers: 1, after: standings, atSeconds: 11, isTest: true)
        test.start()
        test.advance(4000)
        #expect(test.log == ["0ms datagram 0 to a"])
        #expect(firstStep(1, after: test.standings, atSeconds: 15) == "0ms stream 0 to a")
        test.receive(0, .addresses)
        #expect(firstStep(1, after: test.standings, atSeconds: 15) == "0ms datagram 0 to a")
    }

    @Test("a server that replies over TCP only, and then not even so, is asked over UDP too")
    func neither() {
        var run = NameserverRun(servers: 1, after: onlyTCP(), atSeconds: 3)
        run.start()
        run.fail(0, .refused)
        #expect(run.log.last == "0ms datagram 1 to a")
        run.receive(1, .addresses)
        #expect(firstStep(1, after: run.standings) == "0ms datagram 0 to a")
    }

    @Test("a truncated reply, and one over TCP to a slow question, do not make the server TCP only")
    func replyOverBoth() {
        var truncated = NameserverRun(servers: 1)
        truncated.start()
        truncated.receive(0, .truncated)
        truncated.receive(1, .addresses)
        #expect(firstStep(1, after: truncated.standings) == "0ms datagram 0 to a")
        var slow = NameserverRun(servers: 1)
        slow.start()
        slow.advance(900)
        var other = NameserverRun(servers: 1, after: slow.standings)
        other.start()
        other.receive(0, .addresses)
        // The reply to the other question came over UDP after the slow query was sent.
        slow = NameserverRun(servers: 1, after: other.standings)
        slow.start()
        slow.advance(1000)
        #expect(slow.log.last == "1000ms datagram 1 to a")
    }

    @Test("many hanging names cost few TCP connections")
    func boundedTrials() {
        var standings = NameserverStandings()
        var streams = 0
        for _ in 0..<200 {
            var run = NameserverRun(servers: 1, after: standings)
            run.start()
            run.advance(1000)
            streams += run.log.count { $0.contains("stream") }
            standings = run.standings
        }
        #expect(streams == 16)
    }

    @Test("news are told once, and each has its end")
    func news() {
        let (a, b) = (Nameserver(.v4(0xC000_0200)), Nameserver(.v4(0xC000_0201)))
        var standings = firstSilent()
        #expect(standings.takeNews() == [.silent(a)])
        #expect(standings.takeNews().isEmpty)
        var run = NameserverRun(servers: 2, after: standings, atSeconds: 3)
        run.start()
        run.advance(1000)
        run.receive(2, .addresses)
        standings = run.standings
        #expect(standings.takeNews() == [.replies(a), .silent(b)])
        var tcp = onlyTCP()
        #expect(tcp.takeNews() == [.onlyStreams(a)])
        var test = NameserverRun(servers: 1, after: tcp, atSeconds: 11, isTest: true)
        test.start()
        test.receive(0, .addresses)
        tcp = test.standings
        #expect(tcp.takeNews() == [.datagramsAgain(a)])
    }

    @Test("another network is learned anew")
    func reset() {
        var standings = firstSilent()
        standings.reset()
        #expect(firstStep(after: standings) == "0ms datagram 0 to a")
    }
}

@Suite("Options of resolv.conf")
struct NameserverOptionsTests {
    private func steps(_ options: String, servers: Int = 1) -> [String] {
        var run = NameserverRun(servers: servers, withinMilliseconds: 5000, options: options)
        run.start()
        run.advance(4999)
        return run.log
    }

    @Test("rotate starts each question at the next server, and never at a silent one")
    func rotate() {
        let options = NameserverRun.options("rotate")
        let servers = (0..<3).map { Nameserver(.v4(0xC000_0200 + UInt32($0))) }
        var standings = NameserverStandings()
        let firsts = (0..<6).compactMap { _ in standings.order(servers, options).first }
        #expect(Set(firsts[..<3]) == Set(servers) && firsts[..<3] == firsts[3...])
        #expect(standings.order(servers, options).count == 3)
        #expect(standings.order([], options).isEmpty)
    }

    @Test("use-vc asks over TCP only")
    func useVC() {
        #expect(steps("use-vc") == ["0ms stream 0 to a", "2000ms stream 1 to a"])
    }

    @Test("timeout shortens the wait, attempts sets the rounds")
    func timeoutAndAttempts() {
        #expect(
            steps("timeout:1 attempts:3", servers: 2).filter { $0.contains("datagram") } == [
                "0ms datagram 0 to a", "1000ms datagram 2 to b", "2000ms datagram 4 to a", "3000ms datagram 5 to b",
                "4000ms datagram 6 to a",
            ])
        #expect(steps("attempts:1") == ["0ms datagram 0 to a", "1000ms stream 1 to a"])
        #expect(steps("timeout:1 use-vc") == ["0ms stream 0 to a", "1000ms stream 1 to a"])
    }

    @Test("what is not followed is named, the last of a kind counts, and the rest is for programs")
    func unheeded() {
        #expect(NameserverRun.options("rotate timeout:1 attempts:2 use-vc edns0 ndots:2 trust-ad").unheeded.isEmpty)
        #expect(NameserverRun.options("timeout:5").unheeded.map { $0.prefix(9) } == ["timeout:5"])
        #expect(NameserverRun.options("timeout:9 timeout:1").unheeded.isEmpty)
        #expect(NameserverRun.options("attempts:5").unheeded.map { $0.prefix(10) } == ["attempts:5"])
        #expect(NameserverRun.options("attempts:5 timeout:1").unheeded.isEmpty)
        #expect(NameserverRun.options("attempts:0").unheeded.map { $0.prefix(10) } == ["attempts:0"])
        #expect(NameserverRun.options("timeout: attempts timeout:99999999999999999999").unheeded.count == 1)
    }
}
