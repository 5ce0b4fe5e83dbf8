// Ten minutes in which some names are broken at their own servers: every other name still gets a provider's answer.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct BrokenNamesTests {
    /// The failure of the providers for a broken name.
    enum Trouble: CaseIterable {
        case responseCodes
        /// One domain draws HTTP 5xx, another one time-outs.
        case serverErrors
        case silence
    }

    /// Two questions a second, each for a new name. A broken one belongs to one of `domains` registrable domains.
    @Test(
        "no good name goes to the system resolver, however many names are broken",
        arguments: [5, 50], Trouble.allCases)
    func goodNamesStay(percent: Int, _ trouble: Trouble) {
        var run = Run(trouble)
        var generator = SplitMix(seed: UInt64(percent))
        for number in 0..<1200 {
            let isBroken = Int.random(in: 0..<100, using: &generator) < percent
            let domain = trouble == .responseCodes ? "b\(number % 40).example" : "broken.example"
            let text = isBroken ? "n\(number).\(domain)" : "www.g\(number).example"
            run.ask(text, isBroken: isBroken, waiter: UInt64(number), at: .milliseconds(500 * number))
        }
        run.finish()
        #expect(run.goodFromProviders == run.good && run.good > 400)
        #expect(run.goodFromSystem == 0)
        #expect(run.openedBreakers == 0)
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        init(seed: UInt64) {
            state = seed
        }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    /// Three providers that take 40 ms, and a system resolver that takes 5 ms.
    private struct Run {
        let trouble: Trouble
        var resolver = Resolver(seed: 1)
        let origin = Instant.testStart
        var coming: [(at: Duration, id: FetchID, result: FetchResult)] = []
        var broken: Set<Name> = []
        var goodWaiters: Set<UInt64> = []
        var good = 0
        var goodFromProviders = 0
        var goodFromSystem = 0
        var openedBreakers = 0
        var replies = 0

        init(_ trouble: Trouble) {
            self.trouble = trouble
            var policy = Policy()
            policy.prefetches = false
            policy.probes.isEnabled = false
            let traits = (0..<3).map { ProviderTraits(id: RankedID($0), types: .any) }
            handle(.policyChanged(policy), at: .zero)
            handle(.upstreamsChanged(providers: traits, hasSystem: true), at: .zero)
        }

        mutating func ask(_ text: String, isBroken: Bool, waiter: UInt64, at time: Duration) {
            guard let name = Name(text) else { return }
            pass(until: time)
            if isBroken {
                broken.insert(name)
            } else {
                good += 1
                goodWaiters.insert(waiter)
            }
            handle(.asked(Question(name, .a), Waiter(waiter)), at: time)
        }

        mutating func finish() { pass(until: .seconds(620)) }

        /// Handles everything due until `end` in its order.
        private mutating func pass(until end: Duration) {
            while true {
                let due = resolver.nextDeadline.map { $0 - origin }
                let next = coming.indices.min { coming[$0].at < coming[$1].at }
                let at = next.map { coming[$0].at }
                guard let time = [due, at].compactMap({ $0 }).min(), time <= end else { return }
                if let next, at == time {
                    let (_, id, result) = coming.remove(at: next)
                    handle(.fetchFinished(id, result), at: time)
                } else {
                    handle(.timePassed, at: time)
                }
            }
        }

        private mutating func handle(_ event: Event, at time: Duration) {
            var actions: [Action] = []
            resolver.handle(event, now: origin + time, actions: &actions)
            for action in actions { carryOut(action, at: time) }
            openedBreakers += resolver.takeStateChanges(now: origin + time).count { $0.to == .down }
        }

        private mutating func carryOut(_ action: Action, at time: Duration) {
            switch action {
            case .fetch(let id, let question, .system, _):
                coming.append((time + .milliseconds(5), id, .success(answer(to: question, 222))))
            case .fetch(let id, let question, .provider, _), .shadow(let id, let question, _):
                guard let result = result(of: question) else { return }
                coming.append((time + .milliseconds(40), id, result))
            case .abandon(let id): coming.removeAll { $0.id == id }
            case .reply(let waiter, _, let source):
                guard goodWaiters.contains(waiter.number) else { return }
                if source == .system { goodFromSystem += 1 } else { goodFromProviders += 1 }
            default: break
            }
        }

        /// The providers' result for the question; nil: no reply.
        private mutating func result(of question: Question) -> FetchResult? {
            guard broken.contains(question.name) else { return .success(answer(to: question, 7)) }
            replies += 1
            switch trouble {
            case .responseCodes: return .nameFailed(NameFailure(replies % 2 == 0 ? .serverFailure : .refused))
            case .serverErrors: return replies % 2 == 0 ? .failure(.status) : .failure(.garbage)
            case .silence: return nil
            }
        }

        private func answer(to question: Question, _ last: UInt32) -> Answer {
            Answer(records: [
                ResourceRecord(owner: question.name, address: .v4(0xC000_0200 + last), ttlSeconds: 300)
            ])
        }
    }
}
