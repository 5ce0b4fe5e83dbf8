// Forged addresses with default settings: whichever source lies, clients get the verified address after the verdicts,
// and the evidence names that source and no other.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite struct ForgeryWorldTests {
    enum Lie: CaseIterable {
        case oneProvider
        /// The providers do not reply at first, so that the system resolver stands in.
        case system
        case twoProvidersAlike
        case twoProvidersDiffering
        case providerAndSystemAlike
        case providerAndSystemDiffering

        /// The sources that lie and the numbers of their addresses; nil if there are too few providers.
        func liars(at place: Place) -> [Source: UInt32]? {
            let first = Source.provider(ProviderID(place.place))
            let second = Source.provider(ProviderID((place.place + 1) % place.providers))
            switch self {
            case .oneProvider: return [first: 1]
            case .system: return place.place == 0 ? [.system: 1] : nil
            case .twoProvidersAlike: return place.providers > 1 ? [first: 1, second: 1] : nil
            case .twoProvidersDiffering: return place.providers > 1 ? [first: 1, second: 2] : nil
            case .providerAndSystemAlike: return place.providers > 1 ? [first: 1, .system: 1] : nil
            case .providerAndSystemDiffering: return place.providers > 1 ? [first: 1, .system: 2] : nil
            }
        }
    }

    /// What may keep a forged answer from its verdict, or a verdict from its effect.
    enum Trouble: CaseIterable {
        /// Networks seem to change, and the operator empties the cache, also in the middle of a lookup.
        case disturbances
        /// Both families are asked, and forged.
        case families
        /// Honest sources have no IPv6 address.
        case inventedFamily
        /// The second question, which starts the probe, comes after twenty minutes.
        case lateQuestion
    }

    /// A place of the liar among a number of providers.
    struct Place: CustomStringConvertible {
        let providers: Int
        let place: Int

        var description: String { "\(place + 1) of \(providers)" }
    }

    /// The seeds of each case; a usual run takes one, and fewer numbers of providers.
    private static let seeds = 1...(testSetting("FORGERY_SEEDS") ?? 1)
    private static let places = (testSetting("FORGERY_SEEDS") == nil ? [1, 2, 4] : Array(1...8)).flatMap { count in
        (0..<count).map { Place(providers: count, place: $0) }
    }
    /// The longest time from the first verdict on a forged address to the first on a genuine one: an answer of another
    /// source within 130 ms and a probe of its address within 150 ms, which may wait for a second: probes of one
    /// address, which all names get, begin once a second.
    private static let longestDelay = Duration.milliseconds(1280)

    @Test(arguments: Lie.allCases)
    func clientsGetTheVerifiedAddressAndTheEvidenceNamesTheLiar(_ lie: Lie) {
        var misled = 0
        for place in Self.places {
            guard let liars = lie.liars(at: place) else { continue }
            for seed in Self.seeds {
                var world = ForgeryWorld(providers: place.providers, seed: seed)
                world.liars = liars
                Self.run(&world, silentAtFirst: lie == .system, seed: seed)
                misled += Self.check(world, "\(lie), liar \(place), seed \(seed)")
            }
        }
        #expect(misled > 0)
    }

    @Test(arguments: Trouble.allCases)
    func theyDoAlsoInTrouble(_ trouble: Trouble) {
        var misled = 0
        // With one provider, the system resolver's denial of a family does not replace the provider's answer.
        for place in Self.places where trouble != .inventedFamily || place.providers > 1 {
            for seed in Self.seeds {
                var world = ForgeryWorld(providers: place.providers, seed: seed)
                world.liars = [.provider(ProviderID(place.place)): 1]
                if trouble == .inventedFamily { world.absent = [.aaaa] }
                if trouble == .lateQuestion { world.ttlSeconds = 3600 }
                Self.run(&world, trouble, seed: seed)
                misled += Self.check(world, "\(trouble), liar \(place), seed \(seed)")
            }
        }
        #expect(misled > 0)
    }

    /// Asks for three names of different owners, for more than their TTL.
    private static func run(
        _ world: inout ForgeryWorld, _ trouble: Trouble? = nil, silentAtFirst: Bool = false, seed: UInt64
    ) {
        var random = SeededRandom(seed: ~seed)
        let types: [RecordType] = trouble == .families || trouble == .inventedFamily ? [.a, .aaaa] : [.a]
        for number in 0..<3 {
            let questions = types.map { Question(ForgeryWorld.name(number), $0) }
            if silentAtFirst {
                world.silent = Set(world.latencies.indices)
                for _ in 0..<2 {
                    world.ask(questions[0])
                    world.pass(.milliseconds(2500))
                }
                world.silent = []
                // The substitute expires.
                world.pass(.seconds(30))
            }
            for round in 0..<9 {
                for question in questions { world.ask(question) }
                if trouble == .disturbances, Int.random(in: 0..<3, using: &random) == 0 {
                    world.pass(.milliseconds(Int.random(in: 0...60, using: &random)))
                    world.disturb(
                        ForgeryWorld.Disturbance.allCases.randomElement(using: &random) ?? .flush, questions[0])
                }
                if trouble == .lateQuestion, round == 0 { world.pass(.seconds(1200)) }
                let isShort = round < 5
                world.pass(.milliseconds(Int.random(in: isShort ? 200...900 : 15_000...20_000, using: &random)))
            }
        }
    }

    /// - Returns: 1 if a client got a forged address.
    private static func check(_ world: ForgeryWorld, _ title: String) -> Int {
        let complaints = complaints(about: world)
        if !complaints.isEmpty { Issue.record("\(title): \(complaints.joined(separator: "; "))") }
        return world.replies.contains(where: \.isForged) ? 1 : 0
    }

    private static func complaints(about world: ForgeryWorld) -> [String] {
        var complaints: [String] = []
        // Credibility counts registrable domains, of which both families are one.
        var forged: [Source: Set<Name>] = [:]
        for question in (0..<3).flatMap({
            [Question(ForgeryWorld.name($0), .a), Question(ForgeryWorld.name($0), .aaaa)]
        }) {
            let replies = world.replies.filter { $0.question == question }
            let evidence = world.evidence.filter { $0.question == question }
            for source in evidence.map(\.mismatched.source) { forged[source, default: []].insert(question.name) }
            // The second reply starts the probe. One that arrives while the network seems to change is not kept.
            guard replies.count(where: { $0.isForged && !$0.isDuringChange }) > 1 else { continue }
            guard let mismatchedAt = world.mismatchedAt[question] else {
                complaints.append("\(question) has no verdict")
                continue
            }
            let isLiarsSystem = world.liars == [.system: 1]
            let delay = isLiarsSystem ? .seconds(60) : longestDelay
            if let late = replies.last(where: \.isForged), late.at > mismatchedAt + delay {
                complaints.append(
                    "\(question): forged \(milliseconds(late.at - mismatchedAt)) ms after the first verdict")
            }
            if !world.absent.contains(question.type), evidence.isEmpty { complaints.append("\(question): no evidence") }
        }
        for evidence in world.evidence {
            if world.liars[evidence.mismatched.source] == nil {
                complaints.append("\(evidence.mismatched.source) is blamed")
            }
            if world.liars[evidence.verified.source] != nil {
                complaints.append("\(evidence.verified.source) is a witness")
            }
        }
        for source in world.latencies.indices.map({ Source.provider(ProviderID($0)) }) + [.system] {
            let credibility = world.credibility(of: source) ?? -1
            switch forged[source]?.count {
            case nil where credibility != 1: complaints.append("\(source) has credibility \(credibility)")
            case 1?, 2?: if credibility >= 1 { complaints.append("\(source) has credibility \(credibility)") }
            case 3?: if credibility >= 0.5 { complaints.append("\(source) has credibility \(credibility)") }
            default: break
            }
        }
        if world.failures > 0 { complaints.append("\(world.failures) failures") }
        return complaints
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}
