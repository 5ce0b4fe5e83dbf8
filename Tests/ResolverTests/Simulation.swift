// A world that goes wrong at random, from one seed, on a virtual clock: questions, answers, failures, silence, late and
// repeated results, changes of upstreams, files and settings. It keeps account of what the resolver owes.

import DNSWire
import TestSupport

@testable import Resolver

struct Simulation {
    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var resolver = Resolver(seed: 1)
    private(set) var actions: [Action] = []
    private(set) var elapsed: Duration = .zero
    private var random: SeededRandom
    private let origin: Instant
    private var providers: [ProviderTraits] = []
    private var askedBy: [Waiter: (question: Question, at: Instant)] = [:]
    private var running: [FetchID: Fetch] = [:]
    private var askedFor: [Question: [Upstream]] = [:]
    private var spent: [FetchID] = []
    /// Results on their way, the earliest last.
    private var coming: [(at: Instant, id: FetchID, result: Result<Answer, FetchFailure>)] = []
    private var waiters: UInt64 = 0
    private var counting: [Question] = []
    private var lastFetch: Int64 = -1

    private struct Fetch {
        let question: Question
        let upstream: Upstream
    }

    private static let names = (0..<40).map { "n\($0).example" } + ["localhost", "printer", "nas.local", "x.invalid"]
    private static let types: [RecordType] = [.a, .a, .a, .aaaa, .mx]

    /// - Parameter origin: virtual time has to begin somewhere; the same for runs that are compared.
    init(seed: UInt64, origin: Instant) {
        random = SeededRandom(seed: seed)
        self.origin = origin
    }

    private var now: Instant { origin + elapsed }

    /// So many events, and then the end: nothing new happens until nothing is left.
    mutating func run(steps: Int) throws {
        try changeUpstreams()
        for _ in 0..<steps {
            try advance(to: now + .milliseconds(chance(8) ? .random(in: 0...900, using: &random) : 3))
            try happen()
        }
        var unplanned = Policy()
        unplanned.prefetches = false
        try handle(.policyChanged(unplanned))
        while resolver.lookupsInFlight > 0 || !coming.isEmpty,
            let next = [resolver.nextDeadline, coming.last?.at].compactMap({ $0 }).min()
        { try advance(to: next) }
        try require(askedBy.isEmpty, "\(askedBy.count) clients have no reply")
        try require(running.isEmpty, "\(running.count) fetches never ended")
        try require(resolver.lookupsInFlight == 0, "lookups are left")
    }

    // MARK: what happens

    private mutating func happen() throws {
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<5: try changeUpstreams()
        case 5..<10:
            let highest = UInt32.random(in: 0...600, using: &random)
            var policy = Policy()
            policy.cache = CachePolicy(minTTLSeconds: 0, maxTTLSeconds: highest, negativeMaxTTLSeconds: 9)
            try handle(.policyChanged(policy))
        case 10..<15:
            let line = "192.0.2.1 n\(Int.random(in: 0..<40, using: &random)).example\n"
            try handle(.hostsChanged(HostsTable(parsing: Array(line.utf8))))
        case 15..<30:
            if let id = spent.randomElement(using: &random) { try handle(.fetchFinished(id, .failure(.reset))) }
        case 30:
            // More questions at once than there may be.
            for number in 0..<1100 { try ask("burst\(number).example", .a) }
        case 35..<45:
            let before = actions.count
            try handle(.timePassed)
            try require(actions.count == before, "something is done though nothing is due")
        default: try ask(Simulation.names.randomElement(using: &random) ?? "", .a)
        }
    }

    private mutating func ask(_ name: String, _ type: RecordType) throws {
        let type = chance(2) ? type : Simulation.types.randomElement(using: &random) ?? type
        guard let name = Name(name) else { throw Broken(description: "\(name) is no name") }
        waiters += 1
        let question = Question(name, type)
        askedBy[Waiter(waiters)] = (question, now)
        try handle(.asked(question, Waiter(waiters), expired: nil))
    }

    private mutating func changeUpstreams() throws {
        let kinds: [ProviderTraits.Types] = [.a, .addresses, .any]
        providers = (0..<6).filter { _ in Bool.random(using: &random) }.map {
            ProviderTraits(id: ProviderID($0), types: kinds[$0 % kinds.count])
        }
        try handle(.upstreamsChanged(providers: providers, hasSystem: !chance(4)))
    }

    /// Every deadline and every result on the way comes at its instant.
    private mutating func advance(to target: Instant) throws {
        while true {
            let deadline = resolver.nextDeadline
            guard let next = [deadline, coming.last?.at].compactMap({ $0 }).min(), next <= target else { break }
            elapsed = next - origin
            if let deadline, deadline == next {
                try handle(.timePassed)
            } else if let result = coming.popLast() {
                end(result.id)
                try handle(.fetchFinished(result.id, result.result))
            }
            try require(resolver.nextDeadline.map { $0 > now } ?? true, "a deadline lies in the past")
        }
        elapsed = target - origin
    }

    private mutating func decideFate(of id: FetchID, _ question: Question, _ upstream: Upstream) {
        guard !chance(5) else { return }
        let longest = chance(4) ? 6000 : 300
        let result: Result<Answer, FetchFailure>
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<2: result = .failure(FetchFailure.allCases.randomElement(using: &random) ?? .timeout)
        // Nameservers never leave it open whether a name exists.
        case 2 where upstream != .system: result = .success(Answer(negative: .unprovenEmpty))
        case 3: result = .success(Answer(negative: .noSuchName, ttlSeconds: .random(in: 0...900, using: &random)))
        default:
            let ttl = UInt32.random(in: 0...900, using: &random)
            let address = Address.v4(UInt32.random(in: 0...UInt32.max, using: &random))
            result = .success(
                Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: ttl)]))
        }
        for _ in 0..<(chance(10) ? 2 : 1) {
            let at = now + .milliseconds(Int.random(in: 0...longest, using: &random))
            let index = coming.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0
            coming.insert((at, id, result), at: index)
        }
    }

    private mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &random) == 0 }

    // MARK: what must hold

    private mutating func handle(_ event: Event) throws {
        let first = actions.count
        resolver.handle(event, now: now, actions: &actions)
        for action in actions[first...] { try account(for: action) }
        if !counting.isEmpty {
            let counts = counting.map { (question: $0, hits: Int.random(in: 0...2, using: &random)) }
            counting = []
            try handle(.hitsCounted(counts))
        }
        try require(resolver.lookupsInFlight <= Bounds.maxLookups, "too many lookups")
    }

    private mutating func account(for action: Action) throws {
        switch action {
        case .fetch(let id, let question, let upstream):
            try require(Int64(id.number) > lastFetch, "a fetch ID comes twice")
            lastFetch = Int64(id.number)
            if case .provider(let provider) = upstream {
                let traits = providers.first { $0.id == provider }
                try require(traits?.supports(question.type) == true, "\(upstream) cannot be asked \(question)")
                try require(LocalNames.route(question, .empty) == .anywhere, "\(question) leaves the local network")
            }
            running[id] = Fetch(question: question, upstream: upstream)
            let others = askedFor[question, default: []]
            try require(others.count <= Bounds.maxProviderAttempts, "\(question) has too many fetches")
            try require(!others.contains(upstream), "\(upstream) is asked twice at once for \(question)")
            askedFor[question] = others + [upstream]
            decideFate(of: id, question, upstream)
        case .abandon(let id):
            try require(running[id] != nil, "a fetch is abandoned that does not run")
            end(id)
        case .store(let question, let answer, let source):
            try require(answer.ttlSeconds > 0, "an answer for no time is stored for \(question)")
            try require(source != .local && answer.kind != .unprovenEmpty, "\(question): no answer to store")
        case .reply(let waiter, let answer, _):
            try require(answer.kind != .unprovenEmpty, "an unproven answer is handed out")
            try settle(waiter)
        case .replyExpired(let waiter, _, _): try settle(waiter)
        case .fail(let waiter, _): try settle(waiter)
        case .countHits(let questions): counting += questions
        }
    }

    private mutating func end(_ id: FetchID) {
        guard let fetch = running.removeValue(forKey: id) else { return }
        askedFor[fetch.question]?.removeAll { $0 == fetch.upstream }
        spent.append(id)
    }

    private mutating func settle(_ waiter: Waiter) throws {
        guard let asked = askedBy.removeValue(forKey: waiter) else {
            throw Broken(description: "client \(waiter.number) gets a second reply")
        }
        try require(asked.at.duration(to: now) <= Bounds.answerWithin, "client \(waiter.number) waited too long")
    }

    private func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
        guard !condition else { return }
        throw Broken(description: "at \(elapsed / .milliseconds(1)) ms: \(complaint())")
    }
}
