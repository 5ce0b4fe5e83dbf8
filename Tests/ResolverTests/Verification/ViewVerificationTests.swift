// Verification of a name that has different addresses in a view, such as the block page of a filtering provider.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite struct ViewVerificationTests {
    private static let filter = Source.provider(ProviderID(3))

    private func guests(_ stand: VerificationStand) -> Question { Question(stand.name, .a, from: ClientGroup(view: 1)) }

    /// Learns address 1 of the name, and address 9 of the filter's block page, whose certificate is for another name.
    private func learned(_ stand: inout VerificationStand) throws {
        stand.kept([1])
        stand.kept(guests(stand), stand.answer([9]), from: ViewVerificationTests.filter)
        try stand.learn([1: .verified, 9: .nameMismatch])
    }

    @Test func theBlockPageOfAViewIsNoForgery() throws {
        var stand = try VerificationStand()
        try learned(&stand)
        for consequence in stand.take() {
            if case .forged = consequence { Issue.record("\(consequence)") }
            if case .askElsewhere(stand.question, _, _) = consequence { Issue.record("\(consequence)") }
            if case .rearrange = consequence { Issue.record("\(consequence)") }
        }
        #expect(stand.verification.counts.divergences == 0 && stand.verification.counts.omittedAsMismatched == 0)
        let (page, truth) = (stand.answer([9]), stand.answer([1]))
        #expect(
            !stand.verification.mayReplace(guests(stand), (page, ViewVerificationTests.filter), by: (page, .system)))
        #expect(stand.verification.isVerified(stand.question, truth))
        #expect(!stand.verification.isVerified(guests(stand), page))
    }

    @Test func oneProbeOfAnAddressIsForAllViewsThatHaveIt() throws {
        var stand = try VerificationStand()
        stand.kept([1, 2])
        stand.kept(guests(stand), stand.answer([2]), from: ViewVerificationTests.filter)
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2])
        try stand.found(1, .verified)
        try stand.found(2, .verified)
        #expect(stand.verification.isVerified(guests(stand), stand.answer([2])))
        #expect(stand.verification.isVerified(stand.question, stand.answer([2])))
        // The view has no answer with address 1.
        #expect(!stand.verification.isVerified(guests(stand), stand.answer([1])))
        #expect(stand.verification.names == [stand.name])
        #expect(stand.verification.judged(stand.name).count == 2)
    }

    @Test func aViewWithoutProbesStopsNoneOfTheOthers() throws {
        var stand = try VerificationStand()
        stand.kept([1])
        stand.terms = VerificationStand.terms(rule: false)
        stand.kept(guests(stand), stand.answer([9]), from: ViewVerificationTests.filter)
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1])
        try stand.found(1, .verified)
        #expect(stand.verification.isVerified(stand.question, stand.answer([1])))
    }

    @Test func afterANetworkChangeEveryViewsAddressesAreProbedAgain() throws {
        var stand = try VerificationStand()
        stand.kept([1], ttl: 600)
        stand.kept(guests(stand), stand.answer([9], ttl: 600), from: ViewVerificationTests.filter)
        try stand.learn([1: .verified, 9: .verified])
        stand.changeNetwork(hottest: [stand.name])
        stand.pass(.seconds(1))
        #expect(stand.probed == [1, 9])
    }
}
