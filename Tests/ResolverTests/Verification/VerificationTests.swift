// The effects of verdicts on answers: addresses are reordered or filtered, an answer is never empty, and another source
// is asked if all addresses are unusable.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Verified addresses")
struct VerificationTests {
    private var stand: VerificationStand

    init() throws {
        stand = try VerificationStand()
    }

    @Test("a first answer is as it came, and its verdicts reorder the one that is kept")
    mutating func reorders() throws {
        stand.kept([1, 2, 3])
        let first = stand.handedOut([1, 2, 3])
        #expect(first == [1, 2, 3])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2, 3])
        try stand.found(3, .verified)
        let rearranged = stand.takeRearranged()
        #expect(rearranged == [[3, 1, 2]])
        let next = stand.handedOut([1, 2, 3])
        #expect(next == [3, 1, 2])
    }

    @Test("turns among those that are as quick are taken when an answer is kept, not between")
    mutating func turns() throws {
        stand.kept([1, 2])
        try stand.learn([1: .verified, 2: .verified])
        let rearranged = stand.takeRearranged()
        #expect(rearranged.isEmpty)
        var firsts: Set<[Int]> = []
        for _ in 0..<20 { firsts.insert(stand.handedOut([1, 2])) }
        #expect(firsts == [[1, 2], [2, 1]])
    }

    @Test("a forged address leaves the answer as soon as another one is verified, and comes back when it is genuine")
    mutating func quarantine() throws {
        stand.kept([1, 2])
        try stand.learn([1: .nameMismatch])
        var rearranged = stand.takeRearranged()
        #expect(
            rearranged.isEmpty && stand.place(of: 1) == .asGiven && stand.verification.counts.omittedAsMismatched == 0)
        try stand.found(2, .verified)
        rearranged = stand.takeRearranged()
        #expect(rearranged == [[2]] && stand.place(of: 1) == .omittedAsMismatched)
        #expect(stand.verification.counts.omittedAsMismatched == 1)
        stand.pass(.seconds(60))
        stand.kept([1, 2])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2])
        _ = stand.take()
        try stand.found(1, .verified)
        rearranged = stand.takeRearranged()
        #expect(rearranged.map { $0.sorted() } == [[1, 2]] && stand.place(of: 1) == .quickest)
        #expect(stand.verification.counts.omittedAsMismatched == 0)
    }

    @Test("a dead address leaves the answer while another is alive, and comes back when that one dies")
    mutating func dropped() throws {
        stand.kept([1, 2])
        try stand.learn([1: .refused, 2: .verified])
        var rearranged = stand.takeRearranged()
        #expect(
            rearranged == [[2]] && stand.place(of: 1) == .omittedAsUnreachable
                && stand.verification.counts.omittedAsUnreachable == 1)
        stand.pass(.seconds(60))
        stand.kept([1, 2])
        _ = stand.take()
        try stand.learn([1: .refused, 2: .timeout])
        rearranged = stand.takeRearranged()
        #expect(rearranged == [[1, 2]] && stand.verification.counts.omittedAsUnreachable == 0)
    }

    @Test("a name that has no TLS is looked at again where it leads to somewhere else")
    mutating func newAddress() throws {
        stand.kept([1])
        try stand.learn([1: .refused])
        stand.kept([1, 2])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [2])
    }

    @Test("an address for whose probe there was no room has its turn a minute later")
    mutating func noRoom() throws {
        for number in 0...(Bounds.maxWaitingProbes / Bounds.maxAddressesPerName) + Bounds.maxProbes {
            let other = Question(try #require(Name("n\(number).example")), .a)
            let addresses = (0..<Bounds.maxAddressesPerName).map { 1000 + number * Bounds.maxAddressesPerName + $0 }
            stand.kept(other, stand.answer(addresses, ttl: 600))
        }
        #expect(stand.verification.counts.skipped[.overload] ?? 0 > 0)
        stand.kept([1], ttl: 600)
        #expect(!stand.awaits(VerificationStand.alpha))
        stand.pass(Bounds.probePause)
        #expect(stand.awaits(VerificationStand.alpha))
    }

    @Test(
        "a name without TLS is left as it is, and alone for an hour", arguments: [Verdict.notTLS, .refused, .tlsReset])
    mutating func leftAlone(_ verdict: Verdict) throws {
        stand.kept([1, 2])
        try stand.learn([1: verdict, 2: .refused])
        let order = stand.handedOut([1, 2])
        #expect(order == [1, 2] && stand.place(of: 2) == .asGiven)
        let rearranged = stand.takeRearranged()
        #expect(rearranged.isEmpty)
        for _ in 0..<59 {
            stand.pass(.seconds(60))
            stand.kept([1, 2])
            #expect(stand.running.isEmpty)
        }
        stand.pass(.seconds(60))
        stand.kept([1, 2])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2])
    }

    @Test("no family is suppressed for the other")
    mutating func families() throws {
        let sixes = Question(stand.name, .aaaa)
        stand.kept([1])
        stand.kept(sixes, stand.answer6([1, 2]))
        stand.pass(Bounds.probeJitter)
        try stand.found(1, .verified)
        for number in [1, 2] { try stand.found(VerificationStand.address6(number), .timeout) }
        let answer = stand.verification.arranged(sixes, stand.answer6([1, 2]), now: stand.now)
        #expect(answer == stand.answer6([1, 2]))
        let rearranged = stand.takeRearranged()
        #expect(rearranged.allSatisfy { $0.count == 2 })
    }

    @Test("CNAME records stay in front, and TTLs as they are")
    mutating func chain() throws {
        let target = try #require(Name("cdn.example"))
        let records =
            [ResourceRecord(owner: stand.name, alias: target, ttlSeconds: 30)]
            + [1, 2].map {
                ResourceRecord(owner: target, address: VerificationStand.address($0), ttlSeconds: UInt32(60 * $0))
            }
        stand.kept(stand.question, Answer(records: records))
        try stand.learn([1: .untrusted, 2: .verified])
        let arranged = stand.verification.arranged(stand.question, Answer(records: records), now: stand.now)
        #expect(arranged == Answer(records: [records[0], records[2]]))
    }

    @Test("what is forgotten is not rearranged any more, and its verdicts stay")
    mutating func forgotten() throws {
        stand.kept([1, 2])
        stand.pass(Bounds.probeJitter)
        stand.forgotten(QuestionScope(stand.name))
        try stand.found(1, .untrusted)
        let rearranged = stand.takeRearranged()
        #expect(rearranged.isEmpty && stand.place(of: 1) == .absent)
        try stand.found(2, .verified)
        let order = stand.handedOut([1, 2])
        #expect(order == [2])
    }

    @Test("a name that is not to be probed any more is not judged either")
    mutating func switchedOff() throws {
        stand.kept([1, 2])
        try stand.learn([1: .untrusted])
        stand.terms = VerificationStand.terms(rule: false)
        stand.kept([1, 2])
        let order = stand.handedOut([1, 2])
        #expect(order == [1, 2])
    }

    // MARK: useless answers

    @Test("an unusable answer is queried elsewhere once a minute, unless no source has a better one")
    mutating func unreachableAnswer() throws {
        stand.kept([9])
        try stand.learn([9: .verified])
        stand.kept([1])
        try stand.learn([1: .nameMismatch])
        let answer = stand.answer([1])
        #expect(stand.asksElsewhere(excluding: VerificationStand.alpha))
        #expect(stand.verification.isUnreachableAnswer(stand.question, answer, now: stand.now))
        #expect(!stand.verification.isUnreachableAnswer(stand.question, stand.answer([1, 2]), now: stand.now))
        _ = stand.take()
        stand.requested(1)
        stand.pass(.seconds(6))
        stand.requested(1)
        try stand.found(1, .nameMismatch)
        #expect(!stand.asksElsewhere(excluding: VerificationStand.alpha), "a moment ago")
        stand.recordNoBetterSource()
        #expect(!stand.verification.isUnreachableAnswer(stand.question, answer, now: stand.now))
        stand.pass(Bounds.elsewherePause)
        stand.requested(1)
        try stand.found(1, .nameMismatch)
        #expect(!stand.asksElsewhere(excluding: VerificationStand.alpha), "no other source knows better")
        stand.pass(Bounds.noneBetterPause)
        #expect(stand.verification.isUnreachableAnswer(stand.question, answer, now: stand.now))
        stand.requested(1)
        try stand.found(1, .nameMismatch)
        #expect(stand.asksElsewhere(excluding: VerificationStand.alpha))
    }

    @Test("a mismatched address ranks below a recent unreachable one, even if no source has a better one")
    mutating func deadBeforeForged() throws {
        stand.kept([1])
        stand.heard([66])
        try stand.learn([1: .verified, 66: .nameMismatch])
        stand.pass(.seconds(60))
        stand.kept([1])
        try stand.learn([1: .refused, 66: .nameMismatch])
        stand.recordNoBetterSource()
        let (dead, forged) = (stand.answer([1]), stand.answer([66]))
        #expect(!stand.verification.isUnreachableAnswer(stand.question, dead, now: stand.now))
        #expect(stand.verification.isUnreachableAnswer(stand.question, forged, now: stand.now))
        stand.pass(Bounds.noneBetterPause - .seconds(1))
        stand.recordNoBetterSource()
        stand.pass(.seconds(2))
        #expect(
            !stand.verification.isUnreachableAnswer(stand.question, forged, now: stand.now), "no longer known")
    }

    @Test("no other source is queried if the same event shows that none has a better answer")
    mutating func noneBetterAtOnce() throws {
        stand.kept([1])
        stand.pass(Bounds.probeJitter)
        stand.verification.probeFinished(stand.running[0].id, ProbeResult(.untrusted), now: stand.now)
        stand.recordNoBetterSource()
        #expect(!stand.asksElsewhere(excluding: VerificationStand.alpha))
    }

    @Test("a name whose addresses were never alive is asked for elsewhere once, and its answer is used all the same")
    mutating func neverAlive() throws {
        stand.kept([1, 2])
        try stand.learn([1: .timeout])
        #expect(!stand.asksElsewhere(excluding: VerificationStand.alpha))
        try stand.found(2, .refused)
        #expect(stand.asksElsewhere(excluding: VerificationStand.alpha))
        #expect(!stand.verification.isUnreachableAnswer(stand.question, stand.answer([1, 2]), now: stand.now))
        _ = stand.take()
        stand.pass(.seconds(3700))
        stand.kept([1, 2])
        try stand.learn([1: .timeout, 2: .refused])
        #expect(!stand.asksElsewhere(excluding: VerificationStand.alpha))
    }

    @Test("a family that cannot be reached from here is no reason to ask another source")
    mutating func noSuchFamily() throws {
        let sixes = Question(stand.name, .aaaa)
        stand.kept(sixes, stand.answer6([1]))
        stand.pass(Bounds.probeJitter)
        try stand.found(VerificationStand.address6(1), .unreachable)
        #expect(!stand.consequences.contains { stand.isAsking($0, sixes, excluding: VerificationStand.alpha) })
        #expect(!stand.verification.isUnreachableAnswer(sixes, stand.answer6([1]), now: stand.now))
    }

    @Test("if nothing was ever verified and many names are untrusted, no source is queried because of it")
    mutating func noAuthorities() throws {
        for number in 1...4 {
            let question = Question(try #require(Name("n\(number).example")), .a)
            let record = ResourceRecord(
                owner: question.name, address: VerificationStand.address(number), ttlSeconds: 60)
            stand.kept(question, Answer(records: [record]))
            stand.pass(Bounds.probeJitter)
            try stand.found(number, .untrusted)
            let isAsked = stand.consequences.contains {
                stand.isAsking($0, question, excluding: VerificationStand.alpha)
            }
            #expect(isAsked == (number < Bounds.untrustedNamesAreOurs))
            let isForged = stand.verification.isForged(question, Answer(records: [record]))
            #expect(isForged == (number < Bounds.untrustedNamesAreOurs))
        }
        stand.kept([5])
        try stand.learn([5: .verified])
        let first = Question(try #require(Name("n1.example")), .a)
        let record = ResourceRecord(owner: first.name, address: VerificationStand.address(1), ttlSeconds: 60)
        #expect(stand.verification.isForged(first, Answer(records: [record])))
    }

    // MARK: substitutes

    @Test("a name of which nothing was ever verified counts as one without TLS, whatever its certificates show")
    mutating func neverVerified() throws {
        stand.kept([1, 2])
        try stand.learn([1: .untrusted, 2: .refused])
        let order = stand.handedOut([1, 2])
        #expect(order == [1, 2] && stand.place(of: 2) == .asGiven)
        #expect(!stand.verification.isUnreachableAnswer(stand.question, stand.answer([1]), now: stand.now))
        let rearranged = stand.takeRearranged()
        #expect(rearranged.isEmpty)
    }

    @Test("a provider's answer makes room for a verified address alone, whatever is known of its own")
    mutating func substitutes() throws {
        let (alpha, beta) = (VerificationStand.alpha, VerificationStand.beta)
        stand.kept([1, 5], from: alpha)
        stand.heard([2, 3], from: beta)
        stand.heard([4], from: .system)
        try stand.learn([1: .untrusted, 5: .untrusted, 2: .refused, 3: .refused, 4: .refused])
        let first = stand
        let mayReplace = { (stand: VerificationStand, old: ([Int], Source), new: ([Int], Source)) in
            stand.verification.mayReplace(
                stand.question, (stand.answer(old.0), old.1), by: (stand.answer(new.0), new.1))
        }
        // A server with an untrusted certificate is alive, so no dead address replaces it.
        #expect(!mayReplace(first, ([1], alpha), ([4], .system)))
        #expect(!mayReplace(first, ([1], alpha), ([2], beta)))
        #expect(!mayReplace(first, ([1], alpha), ([7], .system)))
        #expect(!mayReplace(first, ([2], alpha), ([7], .system)))
        #expect(mayReplace(first, ([2], alpha), ([7], beta)))
        #expect(mayReplace(first, ([4], .system), ([1], alpha)))

        stand.pass(.seconds(3700))
        stand.kept([1, 5], from: alpha)
        try stand.learn([5: .verified])
        let later = stand
        #expect(!mayReplace(later, ([1], alpha), ([7], beta)))
        #expect(!mayReplace(later, ([1], alpha), ([4], .system)))
        #expect(mayReplace(later, ([1], alpha), ([5], .system)))
        #expect(!mayReplace(later, ([5], alpha), ([5], .system)))
    }

    @Test("others are asked again as soon as an address is verified that another source led to, once")
    mutating func verifiedElsewhere() throws {
        stand.kept([1])
        try stand.learn([1: .verified])
        stand.pass(.seconds(60))
        stand.kept([1])
        try stand.learn([1: .refused])
        #expect(stand.asksElsewhere(excluding: VerificationStand.alpha))
        _ = stand.take()
        stand.heard([7], from: .system)
        stand.recordNoBetterSource()
        stand.pass(Bounds.probeJitter)
        try stand.found(7, .verified)
        let then = stand
        let asks = stand.take().count { then.isAsking($0, then.question, excluding: VerificationStand.alpha) }
        #expect(asks == 1)
    }

    @Test(
        "verdicts from a local fault or a doubtful clock count against no address",
        arguments: [Verdict.unprobed, .timeDoubtful])
    mutating func localFault(_ verdict: Verdict) throws {
        stand.kept([1, 2])
        try stand.learn([1: verdict, 2: verdict])
        let order = stand.handedOut([1, 2])
        #expect(order == [1, 2] && !stand.asksElsewhere(excluding: VerificationStand.alpha))
        #expect(!stand.verification.isUnreachableAnswer(stand.question, stand.answer([1, 2]), now: stand.now))
        stand.pass(.seconds(59))
        stand.kept([1, 2])
        #expect(stand.running.isEmpty)
        stand.pass(.seconds(2))
        stand.kept([1, 2])
        stand.pass(Bounds.probeJitter)
        #expect(stand.probed == [1, 2])
    }

    @Test("a doubt that no client knows of ends with a change of the network; one that was given goes on")
    mutating func doubtsAndNetworks() throws {
        stand.kept([1])
        try stand.learn([1: .verified])
        let window = Duration.seconds(600)
        stand.verification.doubted(stand.question, .noSuchName, by: .system, within: window, now: stand.now)
        stand.changeNetwork(hottest: [])
        #expect(stand.verification.doubt(about: stand.question) == nil)
        stand.verification.doubted(stand.question, .noSuchName, by: .system, within: window, now: stand.now)
        stand.verification.gaveLastKnownGood(stand.question, within: window, now: stand.now)
        stand.changeNetwork(hottest: [])
        #expect(stand.verification.doubt(about: stand.question)?.isGiven == true)
    }
}
