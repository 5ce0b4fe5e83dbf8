// The counted kinds of work: a cache hit, a cache miss, and the parsing of a provider's reply.

import DNSWire
import HTTPDNS
import Resolver
import Serving

enum Work: String, CaseIterable {
    /// The reply to a query from the cache.
    case hit
    /// A cache miss: the resolver takes a question, fetches, stores and replies.
    case miss
    /// A cache miss with a rule for the names of a list that contains none of the names.
    case listed
    /// The parsing of a DoH reply.
    case parse
    /// The parsing of a reply in JSON.
    case json

    static var names: String { allCases.map(\.rawValue).joined(separator: "|") }

    /// - Returns: the number of repetitions with the expected result.
    func run(_ samples: Samples, count: Int) -> Int {
        switch self {
        case .hit: Work.hits(samples, count: count)
        case .miss: Work.misses(samples, count: count, Policy())
        case .listed: Work.misses(samples, count: count, Work.policyWithList)
        case .parse: Work.replies(samples.replies, by: Samples.dialect, samples, count: count)
        case .json: Work.replies(samples.jsonReplies, by: Samples.jsonDialect, samples, count: count)
        }
    }

    private static func hits(_ samples: Samples, count: Int) -> Int {
        let cache = AnswerCache(limitBytes: 8 << 20, seed: (1, 2))
        let serving = ServingState(Partition(rawValue: 1), seed: 1)
        for (question, answer) in zip(samples.questions, samples.answers) {
            cache.store(
                RenderedAnswer(answer, to: question), lifetimeSeconds: answer.ttlSeconds, for: question,
                partition: serving.partition(for: .all), sourceClass: .provider, nowMilliseconds: 0)
        }
        let everywhere = ["0.0.0.0/0", "::/0"].compactMap { Prefix($0) }
        var path = FastPath(cache: cache, access: AccessList(everywhere), serving: serving, version: "1")
        var done = 0
        _ = [UInt8](capacity: EDNS.ourPayloadBytes) { output in
            for index in 0..<count {
                output.removeAll()
                let packet = samples.packets[index]
                let outcome = path.respond(
                    to: packet.span, from: .v4(0x7F00_0001), over: .udp, nowMilliseconds: Int64(index),
                    into: &output)
                if outcome == .answered(.noError), output.count > 0 { done += 1 }
            }
        }
        return done
    }

    private static func misses(_ samples: Samples, count: Int, _ policy: Policy) -> Int {
        var resolving = Resolving(policy)
        var done = 0
        for index in 0..<count where resolving.resolve(samples.questions[index], samples.answers[index]) { done += 1 }
        return done
    }

    /// The length of the public list of Chinese names.
    private static let listedNames = 120_000

    private static var policyWithList: Policy {
        var names = NameList.Builder()
        for number in 0..<listedNames {
            if let name = Name("n\(number).list.example") { names.add(name.digest, .tree, line: number + 1) }
        }
        var (policy, rule) = (Policy(), Rule())
        rule.lists = [RuleList(path: "/list", names: NameList(names))]
        rule.upstreams = .system
        policy.rules = RuleTable([rule])
        return policy
    }

    private static func replies(
        _ replies: [HTTPReply], by dialect: some SingleQuestionDialect, _ samples: Samples, count: Int
    ) -> Int {
        var done = 0
        for index in 0..<count {
            let answer = try? dialect.answer(from: replies[index], to: samples.questions[index])
            if answer == samples.answers[index] { done += 1 }
        }
        return done
    }
}

/// A resolver with one provider on a virtual clock.
private struct Resolving {
    private var resolver = Resolver(seed: 1)
    private var now = Instant(nanoseconds: 1_000_000_000_000)
    private var actions: [Action] = []
    private var cache = NoAnswers()
    private var waiter: UInt64 = 0

    init(_ policy: Policy) {
        handle(.policyChanged(policy))
        handle(
            .upstreamsChanged(
                providers: [ProviderTraits(id: .provider(ProviderID(0)), types: .any)], hasSystem: false))
    }

    /// - Returns: whether the client got the reply.
    mutating func resolve(_ question: Question, _ answer: Answer) -> Bool {
        waiter += 1
        pass(.milliseconds(1))
        handle(.asked(question, Waiter(waiter)))
        guard case .fetch(let fetch, _, _, _) = actions.first else { return false }
        pass(.milliseconds(10))
        handle(.fetchFinished(fetch, .success(answer)))
        return actions.contains { action in
            if case .reply(Waiter(waiter), _, _) = action { true } else { false }
        }
    }

    private mutating func pass(_ duration: Duration) {
        now += duration
        if let deadline = resolver.nextDeadline, deadline <= now { handle(.timePassed) }
    }

    /// Handles the event; its actions remain in `actions`.
    private mutating func handle(_ event: Event) {
        actions.removeAll(keepingCapacity: true)
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
    }
}
