// The state that `explain` describes: cache, fast path and resolver on a virtual clock. The test gives the upstreams'
// answers and the probes' results; no packet is sent.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import TestSupport
import Testing

@testable import Daemon
@testable import Upstreams

final class ExplainStand {
    static let names = ["alidns", "dnspod"]

    /// The daemon's policy without settings.
    static var policy: Policy {
        var policy = Policy()
        policy.probes.isEnabled = true
        return policy
    }

    private(set) var now = Clock.now()
    private(set) var resolver = Resolver(seed: 1)
    let serving = ServingState(Partition(rawValue: 0x6F2C_1A09), seed: 1)
    private var answers: CachedAnswers
    private var path: FastPath
    private var running: [(id: FetchID, question: Question, upstream: Upstream)] = []
    private var probes: [(id: ProbeID, target: ProbeTarget)] = []
    private var waiters: UInt64 = 0
    /// All fetches for clients and refreshes so far.
    private var begun: [(question: Question, upstream: Upstream)] = []
    /// The clients' replies in short form.
    private(set) var replies: [String] = []

    init(policy: Policy = ExplainStand.policy, hasSystem: Bool = true) {
        let cache = AnswerCache(limitBytes: 1 << 20, seed: (1, 2))
        answers = CachedAnswers(cache, serving)
        path = FastPath(
            cache: cache, access: AccessList(Prefix.everywhere), serving: serving, version: ServingStand.version)
        let providers = ExplainStand.names.indices.map {
            ProviderTraits(id: .provider(ProviderID($0)), types: .addresses)
        }
        handle(.upstreamsChanged(providers: providers, hasSystem: hasSystem))
        handle(.policyChanged(policy))
    }

    // MARK: what happens

    func handle(_ event: Event) {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &answers, actions: &actions)
        for action in actions { perform(action) }
    }

    /// Moves the clock forward, and handles each deadline on the way.
    func pass(_ duration: Duration) {
        let end = now + duration
        while let due = resolver.nextDeadline, due <= end {
            now = max(now, due)
            handle(.timePassed)
        }
        now = end
    }

    /// Asks as a client on this machine.
    func ask(_ name: String, _ type: RecordType = .a) throws {
        let packet = QueryPacket(try #require(Name(name)), type).bytes
        var outcome: FastPath.Outcome?
        _ = [UInt8](capacity: EDNS.ourPayloadBytes) { output in
            outcome = path.respond(
                to: packet.span, from: ServingStand.loopback, over: .udp,
                nowMilliseconds: Clock.millisecondsSinceBoot(now), into: &output)
        }
        switch outcome {
        case .answeredAndDue(_, let question): handle(.prefetchDue(question))
        case .answeredAwaited(_, let question): handle(.servedAgain(question))
        case .miss(let query):
            let question = Question(query.name(in: packet.span), query.type)
            waiters += 1
            let foretold = resolver.explanation(of: question, answers, now: now).prospect
            let (begun, replied) = (begun.count, replies.count)
            handle(.asked(question, Waiter(waiters)))
            expect(
                foretold, begun: self.begun[begun...].filter { $0.question == question }.map(\.upstream),
                replies: Array(replies[replied...]))
        case nil, .answered, .local, .refused, .limited, .dropped: break
        }
    }

    /// Answers the upstream's latest question, with addresses or with an empty answer.
    func answer(_ upstream: String, _ addresses: String..., ttl: UInt32 = 300) throws {
        let fetch = try take(upstream)
        let records = try addresses.map {
            ResourceRecord(owner: fetch.question.name, address: try #require(Address($0)), ttlSeconds: ttl)
        }
        finish(fetch.id, .success(Answer(records: records)))
    }

    /// Gives the addresses as additional records of a provider's answer to another question.
    func volunteer(_ provider: String, _ addresses: String...) throws {
        let name = try #require(Name("www.example.com"))
        let records = try addresses.map {
            ResourceRecord(owner: name, address: try #require(Address($0)), ttlSeconds: 300)
        }
        let id = ProviderID(try #require(ExplainStand.names.firstIndex(of: provider)))
        handle(.volunteered(Question(name, .a), Answer(records: records), id))
    }

    func deny(_ upstream: String, _ kind: Answer.Kind) throws {
        finish(try take(upstream).id, .success(Answer(negative: kind, ttlSeconds: 60)))
    }

    func fail(_ upstream: String, _ failure: FetchFailure = .refused) throws {
        finish(try take(upstream).id, .failure(failure))
    }

    /// Ends the probe of an address.
    func found(_ verdict: Verdict, at address: String, in milliseconds: Int = 12) throws {
        let address = try #require(Address(address))
        let index = try #require(probes.firstIndex { $0.target.address == address }, "no probe of \(address)")
        var result = ProbeResult(verdict)
        if verdict == .verified { result.handshakeTime = .milliseconds(milliseconds) }
        if verdict == .connected { result.connectTime = .milliseconds(milliseconds) }
        handle(.probeFinished(probes.remove(at: index).id, result))
    }

    /// Compares the prediction with the outcome.
    private func expect(_ foretold: Explanation.Prospect, begun: [Upstream], replies: [String]) {
        switch foretold {
        case .here: #expect(replies.count == 1 && replies[0].hasSuffix(" from local"))
        case .expired(let cause, _): #expect(replies == ["expired, \(cause.rawValue)"])
        case .fallback: #expect(replies.count == 1 && replies[0].hasSuffix(" from fallback"))
        case .refused(let reason): #expect(replies == ["REFUSED \(reason.code)"])
        case .fails(let reason): #expect(replies == ["SERVFAIL \(reason.code)"])
        case .substitute: #expect(replies.count == 1 && replies[0].hasSuffix(" from system"))
        case .waits(let lookup, let isJoining):
            #expect(replies.isEmpty && (isJoining || begun == lookup.running.map(\.upstream)))
        }
    }

    /// Ends a random fetch, with success or failure.
    func endSomething(_ random: inout SeededRandom) throws {
        guard let fetch = running.randomElement(using: &random) else { return }
        let upstream = name(of: Source(fetch.upstream))
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try answer(upstream, fetch.question.type == .a ? "203.0.113.7" : "2001:db8::7", ttl: 5)
        case 1: try answer(upstream, fetch.question.type == .a ? "192.168.1.1" : "fd00::1", ttl: 5)
        case 2: try deny(upstream, .ambiguousEmpty)
        default: try fail(upstream)
        }
    }

    // MARK: what is known

    func report(_ name: String, _ type: RecordType = .a) throws -> ExplainReport {
        Explanations(resolver: resolver, answers: answers, serving: serving, now: now, nameOfSource: name(of:))
            .report(of: Question(try #require(Name(name)), type))
    }

    func text(_ name: String, _ type: RecordType = .a) throws -> String { try report(name, type).text }

    private func name(of source: Source) -> String {
        switch source {
        case .provider(let id): ExplainStand.names[id.number]
        case .nameserver(let id): ExplainStand.names[id.number]
        case .system: "system"
        case .local: "local"
        case .fallback: "fallback"
        }
    }

    // MARK: what is done

    private func take(_ upstream: String) throws -> (id: FetchID, question: Question, upstream: Upstream) {
        let index = running.lastIndex { name(of: Source($0.upstream)) == upstream }
        return running.remove(at: try #require(index, "\(upstream) was not asked"))
    }

    private func finish(_ id: FetchID, _ result: FetchResult) {
        now += .milliseconds(18)
        handle(.fetchFinished(id, result))
    }

    private func perform(_ action: Action) {
        switch action {
        case .fetch(let id, let question, let upstream, _):
            running.append((id, question, upstream))
            begun.append((question, upstream))
        case .shadow(let id, let question, let provider): running.append((id, question, .provider(provider)))
        case .abandon(let id): running.removeAll { $0.id == id }
        case .store(let question, let answer, let source, _):
            if let sourceClass = source.sourceClass { answers.store(question, answer, sourceClass, now: now) }
        case .rearrange(let question, let answer, let source, _):
            if let sourceClass = source.sourceClass { _ = answers.rearrange(question, answer, sourceClass) }
        case .remove(let question): answers.remove(question)
        case .withdraw(let question, let source):
            if let sourceClass = source.sourceClass { answers.remove(question, sourceClass) }
        case .awaitAsk(let question, let source):
            if let sourceClass = source.sourceClass { answers.awaitHit(question, sourceClass) }
        case .probe(let id, let target): probes.append((id, target))
        case .reply(_, let answer, let source):
            replies.append("\(answer.addresses.map(\.description).joined(separator: " ")) from \(name(of: source))")
        case .replyExpired(_, _, let cause): replies.append("expired, \(cause.rawValue)")
        case .fail(_, let reason, _): replies.append("SERVFAIL \(reason.code)")
        case .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }
}
