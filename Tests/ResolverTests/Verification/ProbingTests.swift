// The names and addresses that are probed, and their times: use and doubt cause a probe, never time alone.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("What is probed")
struct ProbingTests {
    private let alpha = VerificationStand.alpha
    private var stand: VerificationStand

    init() throws {
        stand = try VerificationStand()
    }

    @Test("a name is probed when it is asked for the second time")
    mutating func secondAsk() throws {
        stand.asked()
        stand.kept([1], isInUse: false)
        #expect(stand.awaits(alpha))
        stand.pass(.seconds(10))
        #expect(stand.running.isEmpty)
        stand.servedAgain()
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1])
    }

    @Test("two asks before the answer are two, and a volunteered answer is none")
    mutating func asks() throws {
        stand.kept([1], isInUse: false)
        stand.servedAgain()
        stand.pass(.seconds(2))
        #expect(stand.running.isEmpty && stand.consequences.count { $0 == .awaitAsk(stand.question, alpha) } == 2)
        var other = try VerificationStand()
        other.asked()
        other.asked()
        other.kept([1], isInUse: false)
        other.pass(Bounds.probeJitter)
        #expect(other.probed == [1] && !other.awaits(alpha))
    }

    @Test("an answer that is refreshed, and one that only stands in, are probed at once")
    mutating func useAndDoubt() throws {
        stand.kept([1], from: .system, isInUse: false, isDoubted: true)
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1])
        var other = try VerificationStand()
        other.kept([1], isInUse: true)
        other.pass(Bounds.probeJitter)
        #expect(other.probed == [1])
    }

    @Test("if one address is mismatched, the addresses of all sources are probed")
    mutating func doubtedName() throws {
        stand.kept([66])
        stand.asked()
        try stand.learn([66: .untrusted])
        stand.heard([1, 2])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2])
    }

    @Test("what is only heard of is probed when the name is in use")
    mutating func heard() throws {
        stand.heard([1])
        stand.pass(.seconds(2))
        #expect(stand.running.isEmpty)
        stand.kept([2])
        stand.heard([1])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2])
    }

    @Test(
        "each port of the terms is probed, and an address that is not of the public Internet only where a rule says so")
    mutating func scope() throws {
        stand.terms = VerificationStand.terms(ports: [443, 8443])
        let inside: [Address] = [
            .v4(0x0A00_0001), .v4(0x7F00_0001), .v4(0xA9FE_0101), .v4(0xE000_0001), .v4(0xC000_0201), .v4(0xCB00_7101),
        ]
        let records = (inside + [VerificationStand.address(1)]).map {
            ResourceRecord(owner: stand.name, address: $0, ttlSeconds: 60)
        }
        stand.kept(stand.question, Answer(records: records))
        stand.pass(.seconds(9))
        #expect(stand.running.map(\.target.port) == [443, 8443] && stand.probed == [1, 1])
        #expect(stand.verification.counts.skipped == [.notPublic: UInt64(2 * inside.count)])

        var ruled = try VerificationStand()
        ruled.terms = VerificationStand.terms(rule: true)
        ruled.kept(stand.question, Answer(records: records))
        ruled.pass(.seconds(9))
        #expect(ruled.running.count == records.count)
    }

    @Test(
        "nothing is probed where the settings or a rule say so",
        arguments: [
            VerificationStand.terms(enabled: false), VerificationStand.terms(enabled: false, rule: true),
            VerificationStand.terms(rule: false),
        ])
    mutating func disabled(_ terms: ProbeTerms) throws {
        stand.terms = terms
        stand.kept([1])
        stand.asked()
        stand.servedAgain()
        stand.pass(.seconds(9))
        stand.requested(1)
        let follows = stand.take()
        #expect(follows == [.news(.refused(stand.name, VerificationStand.address(1), .disabled))])
    }

    @Test("addresses beyond the sixteenth are handed out unjudged")
    mutating func manyAddresses() throws {
        stand.kept(Array(1...20))
        stand.pass(.seconds(9))
        #expect(stand.probed == Array(1...16))
        try stand.found(1, .untrusted)
        try stand.found(2, .verified)
        let order = stand.handedOut(Array(1...20))
        #expect(order == Array(2...20))
    }

    @Test("addresses that no source returns any more make room for new ones, those in use never do")
    mutating func room() throws {
        stand.kept(Array(1...16))
        stand.pass(.seconds(30))
        stand.kept(Array(17...20))
        #expect(stand.place(of: 16) == .absent && stand.verification.judged(stand.name).count == 16)
        stand.heard(Array(1...16), from: VerificationStand.alpha)
        stand.heard(Array(21...24))
        stand.requested(24)
        let address = VerificationStand.address(24)
        #expect(stand.consequences.last == .news(.refused(stand.name, address, .unknownAddress)))
        stand.pass(Bounds.recentAnswerAge + .seconds(1))
        stand.heard(Array(21...24))
        stand.requested(24)
        #expect(stand.probed.contains(24))
    }

    @Test("an answer in use is probed again after its TTL, when it is kept again")
    mutating func again() throws {
        stand.kept([1], ttl: 300)
        try stand.learn([1: .verified])
        stand.pass(.seconds(200))
        stand.kept([1], ttl: 300)
        stand.pass(Bounds.probeJitter)
        #expect(stand.running.isEmpty)
        stand.pass(.seconds(100))
        stand.kept([1], ttl: 300)
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1])
    }

    @Test("of a long-lived answer a bad address is probed again when the answer is given after its pause")
    mutating func longLived() throws {
        stand.kept([1, 2], ttl: 86_400)
        try stand.learn([1: .refused, 2: .verified])
        _ = stand.take()
        stand.pass(.seconds(599))
        #expect(!stand.awaits(alpha))
        stand.pass(.seconds(1))
        #expect(stand.awaits(alpha) && stand.running.isEmpty, "time alone probes nothing")
        stand.servedAgain()
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1])
    }

    @Test("without queries, nothing wakes the daemon")
    mutating func idle() throws {
        stand.kept([1])
        try stand.learn([1: .refused])
        stand.pass(.seconds(3600))
        #expect(stand.verification.nextDeadline == nil && stand.running.isEmpty)
    }

    // MARK: wanted

    @Test("a request probes every address at once, or returns a recent result")
    mutating func requested() throws {
        stand.kept([1, 2], isInUse: false)
        _ = stand.take()
        stand.requested(nil)
        #expect(stand.probed == [1, 2])
        try stand.found(1, .verified)
        try stand.found(2, .tlsAlert)
        _ = stand.take()
        stand.pass(.seconds(4))
        stand.requested(1)
        let news = stand.take()
        let target = ProbeTarget(stand.name, VerificationStand.address(1), port: 443)
        guard case .news(.found(target, let result))? = news.first, news.count == 1 else {
            Issue.record("\(news)")
            return
        }
        #expect(result.verdict == .verified)
        stand.pass(.seconds(1))
        stand.requested(1)
        #expect(stand.probed == [1])
    }

    @Test("a request during a running probe waits for its end")
    mutating func wantedMeanwhile() throws {
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        _ = stand.take()
        stand.requested(1)
        let early = stand.take()
        #expect(early.isEmpty && stand.running.count == 1)
        try stand.found(1, .verified)
        #expect(stand.consequences.contains { if case .news(.found) = $0 { true } else { false } })
    }

    @Test("a probe that is wanted and may not be is refused with the reason")
    mutating func refused() throws {
        let inside = Address.v4(0x0A00_0001)
        stand.kept(
            stand.question, Answer(records: [ResourceRecord(owner: stand.name, address: inside, ttlSeconds: 60)]))
        stand.requested(5)
        stand.verification.requested(stand.name, inside, stand.terms, now: stand.now)
        let follows = stand.take() + stand.verification.takeConsequences()
        #expect(
            follows == [
                .news(.refused(stand.name, VerificationStand.address(5), .unknownAddress)),
                .news(.refused(stand.name, inside, .notPublic)),
            ])
    }

    @Test("a probe that never ends is told of, and the address is probed again a minute later")
    mutating func lost() throws {
        stand.kept([1])
        stand.pass(Bounds.probeJitter + Bounds.probeStop)
        #expect(stand.verification.counts.lost == 1 && stand.verification.counts.running == 0)
        let target = ProbeTarget(stand.name, VerificationStand.address(1), port: 443)
        #expect(stand.consequences.contains(.news(.found(target, ProbeResult(.unprobed, detail: "no result")))))
        #expect(stand.place(of: 1) == .behind)
        try stand.found(1, .untrusted)
        #expect(stand.verification.counts.done == 1 && stand.place(of: 1) == .behind, "counted, and too late")
    }

    @Test("verdicts, places and sources of a name can be read, those in no answer last")
    mutating func judged() throws {
        stand.kept([66, 1, 2])
        stand.heard([1, 9])
        try stand.learn([66: .nameMismatch, 1: .verified, 2: .refused, 9: .verified])
        let judged = stand.verification.judged(stand.name)
        #expect(judged.map(\.place) == [.quickest, .omittedAsUnreachable, .omittedAsMismatched, .absent])
        #expect(judged.map(\.target.address) == [1, 2, 66, 9].map(VerificationStand.address))
        #expect(judged[0].sources == [VerificationStand.beta, alpha] && judged[3].sources == [VerificationStand.beta])
        #expect(judged[0].probedAt == stand.now && judged[0].nextProbeAt == stand.now + .seconds(60))
        #expect(stand.verification.names == [stand.name])
        let counts = stand.verification.counts
        #expect(counts.done == 4 && counts.verdicts == [.nameMismatch: 1, .verified: 2, .refused: 1])
    }
}
