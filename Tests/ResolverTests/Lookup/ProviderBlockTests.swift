// Every form in which filtering services block a name, alone and beside other upstreams, with and without `filters`: no
// client and no cache entry gets an address of another source.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct ProviderBlockTests {
    /// A way to block a name.
    struct Form: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let type: RecordType
        let result: @Sendable (Question) -> FetchResult
        /// The form is known for a block although the settings do not say that the provider filters.
        let isPlain: Bool

        init(
            _ description: String, _ type: RecordType = .a, isPlain: Bool = true,
            _ result: @escaping @Sendable (Question) -> FetchResult
        ) {
            (testDescription, self.type, self.result, self.isPlain) = (description, type, result, isPlain)
        }

        /// An answer with addresses, behind aliases.
        static func addresses(_ texts: String..., behind aliases: [String] = [], ede: UInt16? = nil) -> Form {
            let addresses = texts.compactMap { Address($0) }
            let shown = (aliases + texts).joined(separator: " ") + (ede.map { " EDE \($0)" } ?? "")
            return Form(shown, addresses[0].recordType) { question in
                var (owner, records) = (question.name, [ResourceRecord]())
                for target in aliases.compactMap({ Name($0) }) {
                    records.append(ResourceRecord(owner: owner, alias: target, ttlSeconds: 300))
                    owner = target
                }
                records += addresses.map { ResourceRecord(owner: owner, address: $0, ttlSeconds: 3600) }
                return .success(Answer(records: records).remarked(ede.map(error)))
            }
        }

        static func negative(
            _ kind: Answer.Kind, _ type: RecordType = .a, ede: UInt16? = nil, isPlain: Bool = true
        ) -> Form {
            Form("\(kind) \(type)" + (ede.map { " EDE \($0)" } ?? ""), type, isPlain: isPlain) { question in
                .success(
                    Answer.nothing(kind, inZone: question.name, ttlSeconds: 3600).remarked(ede.map(error)))
            }
        }

        static func reply(_ code: ResponseCode, ede: UInt16? = nil, isPlain: Bool = true) -> Form {
            Form("\(code)" + (ede.map { " EDE \($0)" } ?? ""), isPlain: isPlain) { _ in
                .nameFailed(NameFailure(code, ede.map(error)))
            }
        }

        private static func error(_ code: UInt16) -> ExtendedError {
            ExtendedError(upstream: code, text: "malware".utf8)
        }
    }

    static let forms: [Form] = [
        .addresses("0.0.0.0"), .addresses("::"), .addresses("127.0.0.1"), .addresses("127.0.0.53"), .addresses("::1"),
        .addresses("10.10.34.35"), .addresses("192.168.0.1"), .addresses("172.16.0.1"), .addresses("169.254.0.1"),
        .addresses("100.64.0.1"), .addresses("fd00::1"), .addresses("fe80::1"), .addresses("::ffff:0.0.0.0"),
        .addresses("::ffff:127.0.0.1"), .addresses("::ffff:10.0.0.1"), .addresses("0.0.0.0", "127.0.0.1"),
        .addresses("0.0.0.0", "10.0.0.1"), .addresses("::", "::1"), .addresses("255.255.255.255"),
        .addresses("0.0.0.0", behind: ["a.cdn.example"]), .addresses("::", behind: ["a.cdn.example", "B.Cdn.Example"]),
        .addresses("0.0.0.0", ede: 17), .addresses("127.0.0.1", ede: 15), .addresses("198.51.100.9", ede: 15),
        .addresses("198.51.100.9", ede: 16), .addresses("2001:db8::9", ede: 17),
        .negative(.noSuchName), .negative(.noSuchName, ede: 15), .negative(.noSuchName, ede: 16),
        .negative(.noSuchName, .aaaa, ede: 17), .negative(.noSuchName, ede: 18),
        .negative(.noSuchName, .https, ede: 15),
        .negative(.noData), .negative(.noData, ede: 15), .negative(.noData, .aaaa, ede: 17),
        .negative(.noData, .https, ede: 17), .negative(.noData, ede: 18), .negative(.ambiguousEmpty, isPlain: false),
        .reply(.refused, isPlain: false), .reply(.refused, ede: 15), .reply(.refused, ede: 16),
        .reply(.refused, ede: 17), .reply(.refused, ede: 18, isPlain: false), .reply(.serverFailure, ede: 15),
        .reply(.serverFailure, ede: 17),
    ]

    private let filter = Upstream.provider(ProviderID(1))
    private let real = ["203.0.113.7", "2001:db8:ffff::7"].compactMap { Address($0) }

    /// What happens to one client: the reply, and every answer that clients or the cache got.
    private struct Outcome {
        var reply: (answer: Answer, source: Source)?
        var given: [Answer] = []
        var asked: Set<Upstream> = []
    }

    /// Asks a provider that filters by the settings twice, after others, and one that does not once, before others. The
    /// others answer sooner if they are asked.
    private func outcome(
        of form: Form, filters: Bool, beside others: [ProviderTraits], hasSystem: Bool, filterTakes: Duration,
        _ policy: Policy = Policy()
    ) throws -> Outcome {
        var resolver = Resolver(seed: 1)
        var (outcome, now) = (Outcome(), Instant.testStart)
        let question = Question(try #require(Name("ads.example")), form.type)
        var coming: [(at: Instant, event: Event)] = []
        func handle(_ event: Event) {
            var actions: [Action] = []
            resolver.handle(event, now: now, actions: &actions)
            for action in actions {
                switch action {
                case .fetch(let id, let question, let upstream, _):
                    outcome.asked.insert(upstream)
                    let isFilter = upstream == filter
                    coming.append(
                        (
                            now + (isFilter ? filterTakes : .milliseconds(1)),
                            .fetchFinished(id, isFilter ? form.result(question) : .success(realAnswer(to: question)))
                        ))
                case .reply(_, let answer, let source):
                    outcome.reply = (answer, source)
                    outcome.given.append(answer)
                case .store(_, let answer, _, _), .rearrange(_, let answer, _, _): outcome.given.append(answer)
                default: break
                }
            }
        }
        let traits = ProviderTraits(id: .provider(ProviderID(1)), types: .any, filters: filters)
        handle(.upstreamsChanged(providers: filters ? others + [traits] : [traits] + others, hasSystem: hasSystem))
        handle(.policyChanged(policy))
        for client in 1...(filters ? 2 : 1) {
            handle(.asked(question, Waiter(UInt64(client))))
            let end = now + .seconds(8)
            while now < end {
                let event = coming.min { $0.at < $1.at }
                guard let next = Instant.earliest(event?.at, resolver.nextDeadline), next <= end else { break }
                now = max(now, next)
                if let index = coming.firstIndex(where: { $0.at <= now }) {
                    handle(coming.remove(at: index).event)
                } else {
                    handle(.timePassed)
                }
            }
            now = end
        }
        return outcome
    }

    private func realAnswer(to question: Question) -> Answer {
        guard question.type.isAddress else { return Answer(negative: .noData) }
        let address = question.type == .a ? real[0] : real[1]
        return Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: 60)])
    }

    private func others(_ count: Int) -> [ProviderTraits] {
        (0..<count).map { ProviderTraits(id: .provider(ProviderID($0 + 2)), types: .any) }
    }

    private func isClean(_ outcome: Outcome) -> Bool {
        outcome.given.allSatisfy { Set($0.addresses).isDisjoint(with: real) } && outcome.reply != nil
    }

    @Test("with filters, no form is overruled", arguments: forms)
    func filters(_ form: Form) throws {
        for (count, hasSystem) in [(0, false), (0, true), (1, false), (3, true)] {
            let outcome = try outcome(
                of: form, filters: true, beside: others(count), hasSystem: hasSystem, filterTakes: .milliseconds(400))
            #expect(isClean(outcome) && outcome.asked == [filter], "beside \(count), system \(hasSystem)")
        }
    }

    @Test("without filters, a block that can be known for one is not overruled", arguments: forms.filter(\.isPlain))
    func plain(_ form: Form) throws {
        for (count, hasSystem) in [(0, false), (0, true), (1, false), (3, true)] {
            let outcome = try outcome(
                of: form, filters: false, beside: others(count), hasSystem: hasSystem, filterTakes: .milliseconds(20))
            #expect(isClean(outcome), "beside \(count), system \(hasSystem)")
        }
    }

    @Test("a block is given as the settings say, with EDE 15 and the provider's text")
    func blockedAnswer() throws {
        for (setting, type, addresses) in [
            (BlockedAnswer.noSuchName, RecordType.a, []), (.noData, .a, []), (.unspecified, .a, ["0.0.0.0"]),
            (.unspecified, .aaaa, ["::"]), (.unspecified, .https, []),
        ] {
            let form = Form.negative(.noSuchName, type, ede: 17)
            var policy = Policy()
            policy.blockedAnswer = setting
            let outcome = try outcome(
                of: form, filters: false, beside: [], hasSystem: true, filterTakes: .milliseconds(20), policy)
            let answer = try #require(outcome.reply?.answer)
            #expect(answer.addresses == addresses.compactMap { Address($0) })
            #expect((answer.kind == .noSuchName) == (setting == .noSuchName))
            #expect(answer.isBlock && answer.ttlSeconds == 600)
            #expect(answer.remark?.code == 15 && answer.remark?.text == "blocked by the provider: malware")
        }
    }

    @Test("a bare negative answer is no known block, though a filter's word is final")
    func bare() throws {
        let outcome = try outcome(
            of: .negative(.noSuchName), filters: true, beside: [], hasSystem: true, filterTakes: .milliseconds(20))
        #expect(outcome.reply?.answer.isBlock == false)
    }

    @Test("an upstream's text makes no block of an answer with an address")
    func text() throws {
        let name = try #require(Name("www.example"))
        let error = ExtendedError(upstream: 15, text: "blocked by the provider".utf8)
        let answer = { (records: [ResourceRecord]) in Answer(records: records).remarked(error) }
        let record = { (address: Address) in ResourceRecord(owner: name, address: address, ttlSeconds: 60) }
        #expect(!answer([record(real[0])]).isBlock && answer([record(.v4(0))]).isBlock)
    }
}
