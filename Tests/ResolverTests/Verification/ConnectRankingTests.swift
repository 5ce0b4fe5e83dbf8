// The setting `connect`: addresses are ordered by the time of a TCP connection, without any other consequence.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Ranking by connections")
struct ConnectRankingTests {
    private var stand: VerificationStand

    init() throws {
        stand = try VerificationStand()
        stand.terms = VerificationStand.terms(connect: 8080)
    }

    @Test("reachable addresses come first by their time, unreachable ones last")
    mutating func order() throws {
        stand.kept([1, 2, 3, 4])
        stand.pass(Bounds.probeJitter)
        #expect(stand.running.map(\.target.port) == [8080, 8080, 8080, 8080])
        #expect(stand.running.allSatisfy { $0.target.method == .connection })
        try stand.found(1, .timeout, port: 8080)
        try stand.found(2, .connected, in: 200, port: 8080)
        try stand.found(3, .refused, port: 8080)
        try stand.found(4, .connected, in: 10, port: 8080)
        #expect(stand.handedOut([1, 2, 3, 4]) == [4, 2, 1, 3])
        let judged = stand.verification.judged(stand.name)
        #expect(judged.map(\.place) == [.quickest, .slower, .behind, .behind])
        #expect(judged.first?.result.verdict == .connected)
    }

    @Test("a connection verifies nothing: it is neither proof, nor evidence, nor a reason to believe a source")
    mutating func proves() throws {
        stand.kept([1], from: .system)
        stand.heard([2])
        stand.pass(Bounds.probeJitter)
        for number in [1, 2] { try stand.found(number, .connected, port: 8080) }
        #expect(!stand.verification.isVerified(stand.question, stand.answer([1])))
        #expect(stand.verification.counts.divergences == 0 && stand.verification.counts.omittedAsMismatched == 0)
        let follows = stand.take()
        #expect(!follows.contains { if case .recordConfirmed = $0 { true } else { false } })
        #expect(!follows.contains { if case .askElsewhere = $0 { true } else { false } })
    }

    @Test("the port is probed again after the usual pause, though the name never spoke TLS")
    mutating func again() throws {
        stand.kept([1], ttl: 3600)
        stand.pass(Bounds.probeJitter)
        try stand.found(1, .connected, port: 8080)
        stand.kept([1], ttl: 60)
        stand.pass(.seconds(61))
        stand.servedAgain()
        stand.pass(.seconds(3601))
        stand.kept([1], ttl: 60)
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1])
    }

    @Test("another method forgets the verdicts of the former one")
    mutating func methods() throws {
        stand.terms = VerificationStand.terms(ports: [8080])
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        let former = try #require(stand.running.first)
        #expect(former.target.method == .handshake)
        stand.terms = VerificationStand.terms(connect: 8080)
        stand.kept([1])
        // The result of the handshake comes late.
        try stand.found(1, .nameMismatch, port: 8080)
        #expect(stand.verification.judged(stand.name).map(\.result.verdict) == [.unprobed])
        stand.pass(Bounds.probeJitter)
        #expect(stand.running.map(\.target.method) == [.connection])
    }

    @Test("a private address is not connected to, unless a rule probes it")
    mutating func isPrivate() {
        let inside = Answer(records: [ResourceRecord(owner: stand.name, address: .v4(0x0A00_0001), ttlSeconds: 60)])
        stand.kept(stand.question, inside)
        stand.pass(.seconds(2))
        #expect(stand.running.isEmpty)
        stand.terms = VerificationStand.terms(rule: true, connect: 8080)
        stand.kept(stand.question, inside)
        stand.pass(.seconds(2))
        #expect(stand.running.count == 1)
    }
}
