// Verified addresses in a random world of names, sources and verdicts. Answers are never empty, explanations match
// them, and probes end.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Verified addresses in a random world")
struct VerificationPropertyTests {
    private static let steps = 1000

    @Test(
        "answers are never blank and never invented, are explained as they are, and every probe ends",
        arguments: [1, 2])
    func anyCourse(_ seed: UInt64) throws {
        var world = try VerificationWorld(seed: seed)
        for _ in 0..<VerificationPropertyTests.steps {
            world.step()
            let problem = world.checkAnswer() ?? world.checkExplanation()
            #expect(problem == nil, "seed \(seed)")
        }
        let counts = world.verification.counts
        #expect(counts.done > 100 && counts.divergences > 0 && counts.forgottenNames == 0, "seed \(seed): \(counts)")
        #expect(world.begun == world.ended + counts.running, "seed \(seed)")
        #expect(UInt64(world.ended) == counts.done + counts.lost, "seed \(seed)")
    }

    @Test("the same seed gives the same consequences, another one others")
    func repeatability() throws {
        let origin = Instant.testStart
        var worlds = try [7, 7, 8].map { try VerificationWorld(seed: $0, origin: origin) }
        for index in worlds.indices {
            for _ in 0..<400 { worlds[index].step() }
        }
        #expect(worlds[0].consequences == worlds[1].consequences && worlds[0].consequences.count > 400)
        #expect(worlds[0].consequences != worlds[2].consequences)
    }

    @Test("names that are asked for once do not push out those of which something was found")
    func scanned() throws {
        var verification = Verification(seed: 1)
        let now = Instant.testStart
        let terms = VerificationStand.terms()
        let answer = { (name: Name) in
            Answer(records: [ResourceRecord(owner: name, address: VerificationStand.address(1), ttlSeconds: 3600)])
        }
        let verified = Question(try #require(Name("www.example")), .a)
        verification.kept(
            verified, answer(verified.name), from: VerificationStand.alpha, terms, isInUse: true, isDoubted: false,
            now: now)
        verification.requested(verified.name, nil, terms, now: now)
        for case .probe(let id, _) in verification.takeConsequences() {
            verification.probeFinished(id, ProbeResult(.verified), now: now)
        }
        for number in 0..<(3 * Bounds.maxVerifiedNames) {
            let question = Question(try #require(Name("n\(number).example")), .a)
            verification.kept(
                question, answer(question.name), from: VerificationStand.alpha, terms, isInUse: false,
                isDoubted: false, now: now + .milliseconds(number))
        }
        #expect(verification.judged(verified.name).map(\.result.verdict) == [.verified])
    }

    @Test("the table of names is bounded, and gives up those that were only asked for first, forged ones last")
    func bounded() throws {
        var verification = Verification(seed: 1)
        let now = Instant.testStart
        let terms = VerificationStand.terms()
        let forged = VerificationStand.address(66)
        for number in 0..<Bounds.maxVerifiedNames {
            let question = Question(try #require(Name("n\(number).example")), .a)
            let answer = Answer(records: [ResourceRecord(owner: question.name, address: forged, ttlSeconds: 60)])
            verification.kept(
                question, answer, from: VerificationStand.alpha, terms, isInUse: false, isDoubted: false, now: now)
        }
        let kept = try #require(Name("n0.example"))
        verification.requested(kept, forged, terms, now: now)
        for case .probe(let id, _) in verification.takeConsequences() {
            verification.probeFinished(id, ProbeResult(.untrusted), now: now)
        }
        for number in 0..<5000 {
            let question = Question(try #require(Name("m\(number).example")), .a)
            verification.asked(question, now: now + .seconds(number))
        }
        #expect(verification.counts.forgottenNames == 5000)
        #expect(verification.names.contains(kept))
        #expect(
            verification.names.count > Bounds.maxVerifiedNames / 2, "what was only asked for made room for its like")
    }
}

/// A few names with addresses from two providers and the system resolver, some of them forged, dead or slow.
private struct VerificationWorld {
    private(set) var verification: Verification
    private(set) var consequences: [Verification.Consequence] = []
    private(set) var begun = 0
    private(set) var ended = 0
    private var running: [(id: ProbeID, target: ProbeTarget)] = []
    private var lastKept: [Question: Answer] = [:]
    private var chance: SeededRandom
    private var now: Instant
    private let names: [Name]
    private let sources: [Source] = [VerificationStand.alpha, VerificationStand.beta, .system]
    private let terms = VerificationStand.terms(ports: [443, 8443])

    init(seed: UInt64, origin: Instant = .testStart) throws {
        verification = Verification(seed: seed)
        chance = SeededRandom(seed: seed)
        now = origin
        names = try (0..<12).map { try #require(Name("n\($0).example")) }
    }

    mutating func step() {
        let name = pick(names)
        let question = Question(name, pick([.a, .a, .aaaa]))
        let answer = answer(question)
        switch Int.random(in: 0..<14, using: &chance) {
        case 0..<3:
            lastKept[question] = answer
            verification.kept(
                question, answer, from: pick(sources), terms, isInUse: Bool.random(using: &chance),
                isDoubted: Int.random(in: 0..<8, using: &chance) == 0, now: now)
        case 3: verification.heard(question, answer, from: pick(sources), terms, now: now)
        case 4: verification.asked(question, now: now)
        case 5: verification.servedAgain(question, now: now)
        case 6: verification.requested(name, Bool.random(using: &chance) ? nil : answer.addresses[0], terms, now: now)
        case 7 where Int.random(in: 0..<10, using: &chance) == 0:
            let scope = pick([.everything, QuestionScope(name)])
            lastKept = lastKept.filter { !scope.contains($0.key) }
            verification.forgotten(scope)
        case 8: verification.recordNoBetterSource(question, isCertain: true, now: now)
        case 9, 10: pass(.milliseconds(Int.random(in: 0...40_000, using: &chance)))
        default: finish()
        }
        collect()
    }

    /// The fault of the answer to a random question; nil: none.
    mutating func checkAnswer() -> String? {
        let question = Question(pick(names), pick([.a, .aaaa]))
        let answer = answer(question)
        let arranged = verification.arranged(question, answer, now: now)
        let given = arranged.addresses
        guard !given.isEmpty, Set(given).isSubset(of: answer.addresses), Set(given).count == given.count else {
            return "\(given) of \(answer.addresses)"
        }
        guard arranged.records.allSatisfy(answer.records.contains), arranged.records[0] == answer.records[0] else {
            return "records that were not in the answer"
        }
        let judged = verification.judged(question.name)
        let genuine = Set(judged.filter { $0.result.verdict == .verified }.map(\.target.address))
        let behind = given.drop { genuine.contains($0) }
        return behind.contains { genuine.contains($0) } ? "a verified address stands behind" : nil
    }

    /// The difference between the kept answers' addresses and the explanation; nil: none.
    mutating func checkExplanation() -> String? {
        let name = pick(names)
        let judged = verification.judged(name)
        for family in [RecordType.a, .aaaa] {
            guard let answer = lastKept[Question(name, family)] else { continue }
            let arranged = verification.arranged(Question(name, family), answer, now: now).addresses
            let leadsThere = judged.filter { answer.addresses.contains($0.target.address) }
            let omitted = leadsThere.filter { $0.place == .omittedAsMismatched || $0.place == .omittedAsUnreachable }
                .map(\.target.address)
            guard Set(answer.addresses) == Set(arranged).union(omitted), Set(arranged).isDisjoint(with: omitted) else {
                return "\(arranged) with \(omitted) left out"
            }
            let quickest = Set(leadsThere.filter { $0.place == .quickest }.map(\.target.address))
            guard Set(arranged.prefix(quickest.count)) == quickest else { return "\(quickest) are not in front" }
        }
        return nil
    }

    // MARK: parts

    private mutating func pick<Element>(_ all: [Element]) -> Element {
        all[Int.random(in: 0..<all.count, using: &chance)]
    }

    private mutating func answer(_ question: Question) -> Answer {
        let count = Int.random(in: 1...6, using: &chance)
        let first = Int.random(in: 0..<20, using: &chance)
        let alias = Name("cdn.example") ?? question.name
        let chain = [ResourceRecord(owner: question.name, alias: alias, ttlSeconds: 60)]
        return Answer(
            records: chain
                + (0..<count).map { number in
                    let address =
                        question.type == .a
                        ? VerificationStand.address(first + number) : VerificationStand.address6(first + number)
                    return ResourceRecord(owner: alias, address: address, ttlSeconds: 60)
                })
    }

    private mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let due = verification.nextDeadline, due <= end {
            now = max(now, due)
            verification.timePassed(now: now)
            collect()
        }
        now = end
    }

    /// Ends a random probe, mostly with the address's usual verdict, sometimes with another one.
    private mutating func finish() {
        guard !running.isEmpty else { return }
        let index = Int.random(in: 0..<running.count, using: &chance)
        let target = running[index].target
        let usual: [Verdict] = [.verified, .verified, .nameMismatch, .refused, .tlsReset]
        let isUsual = Int.random(in: 0..<6, using: &chance) > 0
        let verdict = isUsual ? usual[Int(target.address.bytes.reduce(0) { $0 &+ $1 }) % 5] : pick(Verdict.allCases)
        var result = ProbeResult(verdict)
        result.handshakeTime = .milliseconds(Int.random(in: 5...200, using: &chance))
        ended += 1
        verification.probeFinished(running.remove(at: index).id, result, now: now)
    }

    private mutating func collect() {
        for consequence in verification.takeConsequences() {
            consequences.append(consequence)
            switch consequence {
            case .probe(let id, let target):
                begun += 1
                running.append((id, target))
            case .news(.found(let target, let result)) where result.detail == "no result":
                ended += 1
                running.removeAll { $0.target == target }
            case .rearrange(_, let answer, _): precondition(!answer.addresses.isEmpty, "a blank answer")
            case .news, .awaitAsk, .askElsewhere, .askAgain, .forged, .recordConfirmed, .doubt, .measured,
                .recordExpired:
                break
            }
        }
    }
}
