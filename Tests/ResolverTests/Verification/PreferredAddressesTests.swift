// The setting `prefer-addresses`: candidates that are verified for the name and quicker than its own addresses come
// first, and no other candidate is ever given.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Preferred addresses")
struct PreferredAddressesTests {
    private var stand: VerificationStand

    init() throws {
        stand = try VerificationStand()
    }

    private mutating func prefer(_ prefixes: String...) throws {
        stand.terms = VerificationStand.terms(prefer: try prefixes.map { try #require(Prefix($0)) })
    }

    /// The range of the addresses 1 to 15.
    private static let range = "1.0.0.0/16"

    private static func text(_ number: Int) -> String { "\(VerificationStand.address(number))" }

    /// The candidates of which a probe runs.
    private func candidates(besides own: [Int]) -> [Address] {
        let own = own.map(VerificationStand.address)
        return stand.running.map(\.target.address).filter { !own.contains($0) }
    }

    private mutating func given(_ own: [Int]) -> [Address] {
        stand.verification.arranged(stand.question, stand.answer(own), now: stand.now).addresses
    }

    @Test("a verified candidate that is quicker comes before the name's own addresses, in the cache as well")
    mutating func quicker() throws {
        try prefer(Self.text(9))
        stand.kept([1, 2])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2, 9])
        try stand.found(9, .verified, in: 10)
        #expect(stand.handedOut([1, 2]) == [1, 2], "nothing is known about the name's own addresses")
        try stand.found(1, .verified, in: 90)
        _ = stand.take()
        try stand.found(2, .verified, in: 80)
        #expect(stand.takeRearranged().last?.first == 9)
        #expect(stand.handedOut([1, 2]).first == 9 && Set(stand.handedOut([1, 2])) == [1, 2, 9])
        #expect(stand.place(of: 9) == .quickest && stand.place(of: 1) == .slower)
    }

    @Test("a candidate about as quick as the name's own addresses is not given")
    mutating func asQuick() throws {
        try prefer(Self.text(9))
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        try stand.found(9, .verified, in: 20)
        try stand.found(1, .verified, in: 39)
        #expect(stand.handedOut([1]) == [1])
    }

    @Test(
        "a candidate without the certificate is not given, whatever the name's own addresses are",
        arguments: Verdict.allCases.filter { $0 != .verified && $0 != .connected })
    mutating func unverified(verdict: Verdict) throws {
        try prefer(Self.text(9))
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        try stand.found(9, verdict)
        try stand.found(1, .timeout)
        #expect(stand.handedOut([1]) == [1])
        #expect(stand.verification.counts.divergences == 0)
    }

    @Test("a candidate's certificate says nothing about the name: its own addresses stay unproven")
    mutating func noProof() throws {
        try prefer(Self.text(9))
        stand.kept([1, 2])
        try stand.learn([9: .verified, 1: .untrusted, 2: .untrusted])
        #expect(stand.handedOut([1, 2]).contains(1) && stand.handedOut([1, 2]).contains(2))
        let follows = stand.take()
        #expect(!follows.contains { if case .recordConfirmed = $0 { true } else { false } })
        #expect(!follows.contains { if case .forged = $0 { true } else { false } })
    }

    @Test("when it fails, the cached answer is the name's own again at once")
    mutating func fails() throws {
        try prefer(Self.text(9))
        stand.kept([1], ttl: 600)
        stand.pass(Bounds.probeJitter)
        try stand.found(9, .verified, in: 10)
        try stand.found(1, .verified, in: 100)
        #expect(stand.handedOut([1]) == [9, 1])
        stand.pass(.seconds(601))
        stand.kept([1], ttl: 600)
        stand.pass(Bounds.probeJitter)
        #expect(stand.handedOut([1]) == [9, 1])
        _ = stand.take()
        try stand.found(9, .timeout)
        #expect(stand.handedOut([1]) == [1])
        #expect(stand.takeRearranged() == [[1]])
    }

    @Test("a range is sampled only if the answer shows that the name is on that edge")
    mutating func onEdge() throws {
        try prefer("9.0.0.0/16")
        stand.kept([1])
        stand.pass(.seconds(9))
        #expect(candidates(besides: [1]).isEmpty)
        try prefer("9.0.0.0/16", Self.range)
        stand.kept([1])
        stand.pass(.seconds(9))
        let found = candidates(besides: [1])
        #expect((1...Bounds.maxPreferredPerFamily).contains(found.count))
        let ranges = try ["9.0.0.0/16", Self.range].map { try #require(Prefix($0)) }
        #expect(found.allSatisfy { address in ranges.contains { $0.contains(address) } })
    }

    @Test("a candidate is probed at request, and listed with its verdict although no answer has it")
    mutating func requested() throws {
        try prefer(Self.text(9))
        stand.kept([1])
        try stand.learn([1: .verified, 9: .nameMismatch])
        #expect(stand.place(of: 9) == .absent && stand.handedOut([1]) == [1])
        stand.pass(Bounds.probePause)
        stand.requested(nil)
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 9])
    }

    @Test("a family without records gets no candidate, and a block none")
    mutating func nothing() throws {
        try prefer(Self.text(9))
        stand.kept(stand.question, Answer(negative: .noData))
        stand.pass(.seconds(9))
        #expect(stand.running.isEmpty)
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 9])
        stand.kept(stand.question, Answer(negative: .noSuchName))
        #expect(stand.place(of: 9) == nil)
    }

    @Test("a filter's answer, also a block page, gets no candidate")
    mutating func filtered() throws {
        try prefer(Self.text(9))
        let alpha = try #require(VerificationStand.alpha.ranked)
        stand.verification.filters = Filters([ProviderTraits(id: alpha, types: .any, filters: true)])
        stand.kept([1])
        stand.pass(.seconds(9))
        #expect(stand.probed == [1])
    }

    @Test("a verdict from hours ago counts no more")
    mutating func old() throws {
        try prefer(Self.text(9))
        stand.kept([1])
        try stand.learn([1: .verified, 9: .verified])
        stand.pass(Bounds.preferredVerdictLife + .seconds(1))
        stand.kept([1])
        #expect(stand.handedOut([1]) == [1])
    }

    @Test("more single addresses than are probed at once have their turns")
    mutating func turns() throws {
        let many = (20..<30).map(Self.text)
        stand.terms = VerificationStand.terms(prefer: try many.map { try #require(Prefix($0)) })
        var probed: Set<Int> = []
        for _ in 0..<60 {
            stand.kept([1])
            stand.pass(Bounds.probeJitter)
            let running = stand.probed
            #expect(running.count <= Bounds.maxPreferredPerFamily + 1)
            probed.formUnion(running)
            for number in running { try stand.found(number, number == 1 ? .verified : .nameMismatch, in: 90) }
            stand.pass(.seconds(70))
        }
        #expect(probed == Set([1] + Array(20..<30)))
    }

    @Test("after a network change no candidate is given before it is verified there")
    mutating func network() throws {
        try prefer(Self.text(9))
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        try stand.found(9, .verified, in: 10)
        try stand.found(1, .verified, in: 100)
        _ = stand.take()
        stand.changeNetwork(hottest: [])
        #expect(stand.handedOut([1]) == [1] && stand.takeRearranged() == [[1]])
    }

    @Test("what is stored in the file, and given after its time, is the name's own answer")
    mutating func stored() throws {
        try prefer(Self.text(9))
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        try stand.found(9, .verified, in: 10)
        try stand.found(1, .verified, in: 100)
        let given = stand.verification.arranged(stand.question, stand.answer([1]), now: stand.now)
        #expect(given.preferredCount == 1 && given.withTTL(to: 5).withoutPreferred == stand.answer([1], ttl: 5))
        let cached = Answer(records: given.records)
        let ranges = stand.terms.preferred
        #expect(stand.verification.withoutPreferred(stand.question, cached, in: ranges) == stand.answer([1]))
        // On another network nothing is known of the name.
        let other = try VerificationStand().verification
        #expect(other.withoutPreferred(stand.question, cached, in: ranges) == stand.answer([1]))
        #expect(other.withoutPreferred(stand.question, stand.answer([9]), in: ranges) == stand.answer([9]))
    }

    @Test("of 10,000 answers amid changing verdicts none has a candidate that is not verified", arguments: 1...5)
    mutating func never(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        stand = try VerificationStand(seed: seed)
        try prefer(Self.range, Self.text(40), "2.0.0.0/8")
        let own = [1, 2].map(VerificationStand.address)
        var verified: Set<Address> = []
        // Probes whose results do not count: the network has changed, or they are lost.
        var void: Set<ProbeID> = []
        var preferred = 0
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                void.formUnion(stand.running.map(\.id))
                stand.changeNetwork(hottest: [stand.name])
                verified = []
            case 1...3: stand.kept([1, 2])
            case 4: stand.servedAgain()
            case 5: stand.pass(.seconds(Int.random(in: 100...400, using: &random)))
            case _ where !stand.running.isEmpty:
                let (id, address) = (stand.running[0].id, stand.running[0].target.address)
                let bad: [Verdict] = [.timeout, .nameMismatch, .untrusted, .tlsAlert]
                let isGood = Int.random(in: 0..<10, using: &random) < 7
                let verdict = isGood ? .verified : bad[Int.random(in: 0..<bad.count, using: &random)]
                try stand.found(
                    address, verdict, in: own.contains(address) ? 200 : Int.random(in: 1...60, using: &random))
                if void.contains(id) { break }
                if verdict == .verified { verified.insert(address) } else { verified.remove(address) }
            default: stand.pass(.milliseconds(300))
            }
            let follows = stand.take()
            for case .news(.found(let target, let result)) in follows where result.detail == "no result" {
                let lost = stand.running.first { $0.target == target && !void.contains($0.id) }
                void.insert(try #require(lost?.id))
            }
            let answers = follows.compactMap { if case .rearrange(_, let answer, _) = $0 { answer } else { nil } }
            for addresses in answers.map(\.addresses) + [given([1, 2])] {
                let added = addresses.filter { !own.contains($0) }
                #expect(added.allSatisfy(verified.contains) && added.count <= Bounds.maxPreferredGiven)
                preferred += added.isEmpty ? 0 : 1
            }
        }
        #expect(preferred > 100, "\(preferred) answers had one")
    }
}
