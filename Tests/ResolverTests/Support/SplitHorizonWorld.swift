// A network with names of its own among many public ones, on a virtual clock: two providers, the network's resolver,
// which may lie, and probes. It has an outage of the providers and a captive portal.

import DNSWire
import TestSupport

@testable import Resolver

struct SplitHorizonWorld {
    /// What a name is. All but the names of the network are decoys.
    enum Role: CaseIterable {
        // Names of the network.
        case corporate, plant, privateAlone, publicAlone, uniqueLocal, privateHere, verifiedHere
        // Decoys.
        case plain, otherEdge, failingEdge, forged, filtered, absent, expired, new, blocked, emptied, translated

        var isFound: Bool {
            switch self {
            case .corporate, .plant, .privateAlone, .publicAlone, .uniqueLocal, .privateHere, .verifiedHere: true
            case .plain, .otherEdge, .failingEdge, .forged, .filtered, .absent, .expired, .new, .blocked, .emptied,
                .translated:
                false
            }
        }
    }

    struct Site {
        let number: Int
        let role: Role
        let name: Name
    }

    /// The addresses that the network's resolver invents for names that do not exist; empty: none.
    let inventions: [Address]
    let sites: [Site]
    private(set) var resolver: Resolver
    private(set) var now = Instant.testStart
    /// The questions to the network's resolver, and those to providers, by cause.
    private(set) var systemQuestions = 0
    private(set) var providerQuestions: [Name: Int] = [:]
    private let siteOfName: [Name: Site]
    private var cache = ScenarioCache()
    private var coming: [(at: Instant, event: Event)] = []
    private var nextWaiter: UInt64 = 0
    private var random: SeededRandom

    /// Times from the start.
    static let expiry: Duration = .seconds(2 * 3600)
    static let outage = Duration.seconds(4 * 3600)..<Duration.seconds(5 * 3600)
    static let portal = Duration.seconds(6 * 3600)..<Duration.seconds(6 * 3600 + 900)
    static let end: Duration = .seconds(12 * 3600)

    /// - Parameters:
    ///   - count: the number of names.
    ///   - comparison: which names are compared.
    init(seed: UInt64, count: Int, _ comparison: NameComparison, inventions: [Address] = []) {
        self.inventions = inventions
        random = SeededRandom(seed: seed)
        sites = SplitHorizonWorld.sites(count)
        siteOfName = Dictionary(uniqueKeysWithValues: sites.map { ($0.name, $0) })
        resolver = Resolver(seed: seed)
        var policy = Policy()
        policy.probes.isEnabled = true
        policy.prefetches = false
        policy.comparison = comparison
        handle(.upstreamsChanged(providers: SplitHorizonWorld.providers, hasSystem: true))
        handle(.policyChanged(policy))
        handle(.network(.changed(NetworkID(rawValue: 1))))
    }

    private static let providers = (0..<2).map { ProviderTraits(id: RankedID($0), types: .any) }

    /// Fifty names of the network, then the decoys in equal shares, and plain names.
    private static func sites(_ count: Int) -> [Site] {
        let ours: [(Role, Int)] = [
            (.corporate, 12), (.plant, 8), (.privateAlone, 5), (.publicAlone, 5), (.uniqueLocal, 2), (.privateHere, 10),
            (.verifiedHere, 8),
        ]
        let decoys = Role.allCases.filter { !$0.isFound && $0 != .plain }
        let roles = ours.flatMap { Array(repeating: $0.0, count: $0.1) }
        return (0..<count).map { number in
            let isDecoy = number < count / 3
            let role =
                number < roles.count ? roles[number] : isDecoy ? decoys[number % decoys.count] : .plain
            let text =
                switch role {
                case .corporate: "host\(number).corp.acme.com"
                case .plant: "unit\(number).plant"
                default: "www.site\(number).com"
                }
            return Site(number: number, role: role, name: Name(text) ?? .root)
        }
    }

    /// The names of the network.
    var ours: Set<Name> { Set(sites.filter(\.role.isFound).map(\.name)) }

    var found: SplitHorizon { resolver.splitHorizon(announced: []) }

    // MARK: clients

    /// Lets clients ask until the end: names that decide often, plain ones a few times.
    mutating func run() {
        var asks: [(at: Duration, question: Question)] = []
        let hours = Int(SplitHorizonWorld.end.wholeSeconds / 3600)
        for site in sites {
            let everyHour = site.role.isFound || site.role == .absent ? 2 : 1
            for hour in 0..<hours where site.role != .plain || [0, 4, 5].contains(hour) {
                for turn in 0..<everyHour {
                    let share = 3600 / everyHour
                    let seconds = hour * 3600 + turn * share + Int(random.next() % UInt64(share))
                    let types: [RecordType] =
                        [.translated, .uniqueLocal, .corporate].contains(site.role) ? [.a, .aaaa] : [.a]
                    asks += types.map { (.seconds(seconds), Question(site.name, $0)) }
                }
            }
        }
        for (at, question) in asks.sorted(by: { $0.at < $1.at }) {
            pass(until: .testStart + at)
            ask(question)
        }
        pass(until: .testStart + SplitHorizonWorld.end)
    }

    private mutating func ask(_ question: Question) {
        if let hit = cache.ask(question, now: now) {
            if hit.isFirstWhenDue { handle(.prefetchDue(question)) }
            if hit.isAwaited { handle(.servedAgain(question)) }
            return
        }
        nextWaiter += 1
        handle(.asked(question, Waiter(nextWaiter)))
    }

    private mutating func pass(until end: Instant) {
        while let next = [resolver.nextDeadline, coming.map(\.at).min()].compactMap({ $0 }).min(), next <= end {
            now = max(now, next)
            if let deadline = resolver.nextDeadline, deadline <= now { handle(.timePassed) }
            let due = coming.filter { $0.at <= now }
            coming.removeAll { $0.at <= now }
            for (_, event) in due { handle(event) }
        }
        now = max(now, end)
    }

    // MARK: the world

    private mutating func handle(_ event: Event) {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        for action in actions { perform(action) }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .fetch(let id, let question, .system, _):
            systemQuestions += 1
            coming.append((now + .milliseconds(5), .fetchFinished(id, .success(localAnswer(question)))))
        case .fetch(let id, let question, _, _), .shadow(let id, let question, _):
            providerQuestions[question.name, default: 0] += 1
            coming.append((now + .milliseconds(30), .fetchFinished(id, providersResult(question))))
        case .abandon(let id):
            coming.removeAll { if case .fetchFinished(id, _) = $0.event { true } else { false } }
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: cache.carryOut(action, now: now)
        case .probe(let id, let target):
            coming.append((now + .milliseconds(40), .probeFinished(id, ProbeResult(verdict(on: target)))))
        case .reply, .replyExpired, .fail, .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }

    private var passed: Duration { now - .testStart }

    // MARK: answers

    /// A public address of the site; each lies in a /24 of its own.
    static func outside(_ site: Site) -> Address { .v4(0x2000_0001 + UInt32(site.number) << 8) }
    /// The address that only the network gives.
    static func inside(_ site: Site) -> Address {
        switch site.role {
        case .corporate, .plant, .privateAlone: .v4(0x0A00_0001 + UInt32(site.number) << 8)
        case .privateHere: .v4((site.number % 2 == 0 ? 0x6440_0001 : 0xC0A8_0001) + UInt32(site.number) << 8)
        default: .v4(0x4000_0001 + UInt32(site.number) << 8)
        }
    }

    private func providersResult(_ question: Question) -> FetchResult {
        if SplitHorizonWorld.outage.contains(passed) { return .failure(.refused) }
        if SplitHorizonWorld.portal.contains(passed) { return .failure(.tls) }
        let absent = FetchResult.success(Answer(negative: .noSuchName, ttlSeconds: 60))
        guard let site = siteOfName[question.name] else { return absent }
        switch site.role {
        case .corporate, .plant, .privateAlone, .publicAlone, .uniqueLocal, .absent: return absent
        case .expired: if passed >= SplitHorizonWorld.expiry { return absent }
        // The provider's cache denies the name for a while.
        case .new: if passed < .seconds(2700) { return absent }
        case .emptied:
            return .success(Answer(negative: .noData, ttlSeconds: 60))
        case .blocked:
            let forms = [
                Answer(negative: .noSuchName, ttlSeconds: 60).remarked(.blockedByRule),
                Answer(records: [ResourceRecord(owner: question.name, address: .v4(0), ttlSeconds: 60)]),
            ]
            return .success(forms[site.number % 2])
        case .privateHere, .verifiedHere, .plain, .otherEdge, .failingEdge, .forged, .filtered, .translated: break
        }
        return .success(answer(question, question.type == .a ? SplitHorizonWorld.outside(site) : nil))
    }

    private func localAnswer(_ question: Question) -> Answer {
        if SplitHorizonWorld.portal.contains(passed) { return answer(question, .v4(0xC0A8_0801)) }
        let invented = inventions.isEmpty ? nil : inventions[Int(question.name.digest % UInt64(inventions.count))]
        guard let site = siteOfName[question.name] else { return invention(question, invented) }
        let (inside, outside) = (SplitHorizonWorld.inside(site), SplitHorizonWorld.outside(site))
        let isIPv4 = question.type == .a
        switch site.role {
        case .absent: return invention(question, invented)
        case .corporate, .plant, .privateAlone, .publicAlone, .privateHere, .verifiedHere, .otherEdge, .failingEdge:
            return answer(question, isIPv4 ? inside : nil)
        case .uniqueLocal:
            let address = Address.v6(high: 0xFD12_3456_0000_0000, low: UInt64(site.number))
            return answer(question, isIPv4 ? nil : address)
        case .forged: return answer(question, isIPv4 ? (site.number % 3 == 0 ? .v4(0x5000_0001) : inside) : nil)
        case .filtered: return answer(question, isIPv4 ? .v4(0x0A0A_2223) : nil)
        case .expired:
            // The answer of a cache, which ends up to eight hours after the zone.
            let end = SplitHorizonWorld.expiry + .seconds(3600 + site.number * 997 % 25_200)
            guard passed >= SplitHorizonWorld.expiry else { return answer(question, isIPv4 ? outside : nil) }
            let left = UInt32(clamping: (end - passed).wholeSeconds)
            return left == 0 ? invention(question, invented) : answer(question, isIPv4 ? outside : nil, ttl: left)
        case .translated:
            let translated = Address.v6(high: 0x0064_FF9B_0000_0000, low: 0x2000_0001 + UInt64(site.number) << 8)
            return answer(question, isIPv4 ? outside : translated)
        case .emptied: return Answer(negative: .noData, ttlSeconds: 60)
        case .plain, .new, .blocked: return answer(question, isIPv4 ? outside : nil)
        }
    }

    private func invention(_ question: Question, _ address: Address?) -> Answer {
        guard question.type == .a, let address else { return Answer(negative: .noSuchName, ttlSeconds: 60) }
        return answer(question, address)
    }

    private func answer(_ question: Question, _ address: Address?, ttl: UInt32 = 300) -> Answer {
        guard let address else { return Answer(negative: .noData, ttlSeconds: 60) }
        return Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: ttl)])
    }

    private func verdict(on target: ProbeTarget) -> Verdict {
        guard let site = siteOfName[target.name] else { return .nameMismatch }
        let isOutside = target.address == SplitHorizonWorld.outside(site)
        switch site.role {
        case .verifiedHere:
            return isOutside ? (site.number % 2 == 0 ? .timeout : .nameMismatch) : .verified
        case .otherEdge: return .verified
        case .failingEdge:
            // The provider's edge is down for five minutes of every hour.
            return isOutside && passed.wholeSeconds % 3600 < 300 ? .timeout : .verified
        case .publicAlone: return inventions.isEmpty ? .untrusted : .verified
        default: return isOutside ? .verified : .nameMismatch
        }
    }
}
