// The sources that are blamed for a forged address, those that are not, and a hijack from its first answer to its end.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Divergences")
struct ForgeryEvidenceTests {
    private let alpha = VerificationStand.alpha
    private let beta = VerificationStand.beta
    private var stand: VerificationStand

    init() throws {
        stand = try VerificationStand()
    }

    private mutating func takeForgeries() -> [ForgeryEvidence] {
        stand.take().compactMap { if case .forged(let evidence) = $0 { evidence } else { nil } }
    }

    @Test("a hijack: the forged address is gone with its verdict, its source is blamed once, and recovers")
    mutating func hijack() throws {
        stand.asked()
        stand.kept([66], from: beta, isInUse: false)
        #expect(stand.awaits(beta))
        let first = stand.handedOut([66])
        #expect(first == [66], "a name is never blanked")
        stand.servedAgain()
        try stand.learn([66: .nameMismatch])
        #expect(stand.asksElsewhere(excluding: beta))
        let isUnreachableAnswer = stand.verification.isUnreachableAnswer(
            stand.question, stand.answer([66]), now: stand.now)
        #expect(!isUnreachableAnswer, "nothing of the name was verified yet")
        _ = stand.take()

        stand.kept([1], from: alpha)
        try stand.learn([1: .verified])
        let evidence = try #require(takeForgeries().first)
        #expect(evidence.question == stand.question)
        #expect(evidence.mismatched.source == beta && evidence.verified.source == alpha)
        #expect(evidence.mismatched.addresses == [VerificationStand.address(66)])
        #expect(evidence.mismatched.target.address == VerificationStand.address(66))
        #expect(
            evidence.mismatched.result.verdict == .nameMismatch && evidence.verified.result.verdict == .verified)
        #expect(stand.verification.counts.divergences == 1)

        let both = stand.handedOut([66, 1])
        #expect(both == [1])
        stand.heard([66], from: beta)
        var again = takeForgeries()
        #expect(again.isEmpty, "the same within ten minutes")
        stand.pass(.seconds(601))
        stand.kept([1], from: alpha)
        stand.heard([66], from: beta)
        again = takeForgeries()
        #expect(again.count == 1)

        stand.heard([1], from: beta)
        let honest = stand.take()
        #expect(
            honest.contains(.recordConfirmed(beta, stand.name))
                && !honest.contains { if case .forged = $0 { true } else { false } })
    }

    @Test("the source that forges is blamed, however many others answer before the verdict")
    mutating func manySources() throws {
        stand.kept([66], from: alpha)
        for number in 2...32 { stand.heard([1], from: .provider(ProviderID(number))) }
        stand.heard([1], from: .system)
        try stand.learn([66: .nameMismatch, 1: .verified])
        let divergences = takeForgeries()
        #expect(divergences.map(\.mismatched.source) == [alpha])
    }

    @Test("an address that all sources return counts against none of them")
    mutating func allSources() throws {
        stand.kept([1, 66], from: alpha)
        stand.heard([1, 66], from: beta)
        try stand.learn([1: .verified, 66: .untrusted])
        let divergences = takeForgeries()
        #expect(divergences.isEmpty)
    }

    @Test("without a verified address of another source there is no proof")
    mutating func noProof() throws {
        stand.kept([66], from: beta)
        stand.heard([1], from: alpha)
        try stand.learn([66: .untrusted, 1: .timeout])
        let divergences = takeForgeries()
        #expect(divergences.isEmpty)
    }

    @Test("a source is not blamed for a former answer")
    mutating func longAgo() throws {
        stand.kept([66], from: beta)
        stand.pass(Bounds.recentAnswerAge + .seconds(1))
        stand.kept([1], from: alpha)
        stand.requested(nil)
        stand.pass(Bounds.probeJitter)
        try stand.found(1, .verified)
        let divergences = takeForgeries()
        #expect(divergences.isEmpty)
    }

    @Test("each answer with verified addresses is credited once, unless it has a forged address, too")
    mutating func truths() throws {
        stand.kept([1], from: alpha)
        stand.heard([1, 66], from: beta)
        try stand.learn([66: .untrusted, 1: .verified])
        let first = stand.take()
        #expect(
            first.count { $0 == .recordConfirmed(alpha, stand.name) } == 1
                && !first.contains(.recordConfirmed(beta, stand.name)))
        stand.pass(.seconds(60))
        try stand.learn([:])
        let quiet = stand.take()
        #expect(!quiet.contains(.recordConfirmed(alpha, stand.name)))
        stand.kept([1], from: alpha)
        let second = stand.take()
        #expect(second.count { $0 == .recordConfirmed(alpha, stand.name) } == 1)
    }

    @Test("a mismatched answer is queried again once another source turns out to have a verified one")
    mutating func hasBetterSource() throws {
        stand.kept([66], from: beta)
        try stand.learn([66: .untrusted])
        stand.recordNoBetterSource()
        stand.pass(Bounds.elsewherePause)
        _ = stand.take()
        stand.heard([1], from: alpha)
        #expect(!stand.asksElsewhere(excluding: beta))
        try stand.learn([1: .verified])
        #expect(stand.asksElsewhere(excluding: beta))
    }
}
