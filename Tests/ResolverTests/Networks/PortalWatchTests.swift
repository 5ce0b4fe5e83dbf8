// The suspicion of a captive portal: its begin, its length, and the providers that are tried meanwhile.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Portal watch")
struct PortalWatchTests {
    private static let start = Instant.testStart
    private let question: Question
    private let answer = Answer(negative: .noData)

    init() throws {
        question = Question(try #require(Name("www.example")), .aaaa)
    }

    private func at(_ seconds: Double) -> Instant { PortalWatchTests.start + .seconds(seconds) }

    /// A watch on providers over TLS (two by default) that has a question for trials.
    private func watch(verifies: [Bool] = [true, true], shadows: Int = 0, hasSystem: Bool = true) -> PortalWatch {
        var watch = PortalWatch()
        let ordinary = verifies.enumerated().map { number, verifies in
            ProviderTraits(id: RankedID(number), types: .any, verifies: verifies)
        }
        let shadowed = (0..<shadows).map { ProviderTraits(id: RankedID(100 + $0), types: .any, shadowShare: 1) }
        watch.keep(ordinary + shadowed, hasSystem: hasSystem, now: at(0))
        watch.asked(question)
        return watch
    }

    private func fails(_ watch: inout PortalWatch, _ provider: Int, _ failure: FetchFailure, at seconds: Double) {
        watch.heard(.provider(ProviderID(provider)), .failure(failure), of: question.name, now: at(seconds))
    }

    private func answers(_ watch: inout PortalWatch, _ upstream: Upstream, at seconds: Double) {
        watch.heard(upstream, .success(answer), of: question.name, now: at(seconds))
    }

    /// A suspecting watch: both providers fail at 0 and 1 s, and the system resolver answers at 2 s.
    private func suspected() -> PortalWatch {
        var watch = watch()
        fails(&watch, 0, .tls, at: 0)
        fails(&watch, 1, .tls, at: 1)
        answers(&watch, .system, at: 2)
        return watch
    }

    private func trial(_ watch: inout PortalWatch, at seconds: Double) -> Int? {
        watch.takeTrial(now: at(seconds)) { _ in true }?.provider.number
    }

    // MARK: suspicion

    @Test("a portal is suspected when every provider has failed its TLS check and the system resolver answers")
    func suspicion() {
        var watch = suspected()
        #expect(watch.isSuspected)
        #expect(watch.takeNews() == [.suspected])
        #expect(watch.state == PortalState(since: at(2), until: at(602), hosts: []))
        #expect(watch.takeNews().isEmpty)
    }

    @Test("the order in which they fail and the system resolver answers does not matter, but it must answer meanwhile")
    func order() {
        var late = watch()
        answers(&late, .system, at: 0)
        fails(&late, 0, .tls, at: 1)
        fails(&late, 1, .tls, at: 2)
        #expect(!late.isSuspected)
        answers(&late, .system, at: 3)
        #expect(late.isSuspected)
        var between = watch()
        fails(&between, 0, .tls, at: 1)
        answers(&between, .system, at: 2)
        fails(&between, 1, .tls, at: 3)
        #expect(between.isSuspected)
    }

    @Test("what was seen more than 30 s ago is no sign", arguments: [(31.0, true), (32.1, false)])
    func freshness(_ seconds: Double, _ isSuspected: Bool) {
        var watch = watch()
        fails(&watch, 0, .tls, at: 2)
        fails(&watch, 1, .tls, at: seconds)
        answers(&watch, .system, at: seconds)
        #expect(watch.isSuspected == isSuspected)
    }

    @Test(
        "other failures are no sign, and do not take one away",
        arguments: [
            FetchFailure.refused, .unreachable, .timeout, .reset, .garbage, .overload, .account, .clock, .unsupported,
        ])
    func otherFailures(_ failure: FetchFailure) {
        var watch = watch()
        fails(&watch, 0, .tls, at: 0)
        fails(&watch, 1, failure, at: 1)
        answers(&watch, .system, at: 2)
        #expect(!watch.isSuspected)
        fails(&watch, 1, .tls, at: 3)
        fails(&watch, 0, failure, at: 4)
        answers(&watch, .system, at: 5)
        #expect(watch.isSuspected)
    }

    @Test(
        "whatever a provider says over TLS is its own word",
        arguments: [.status, .redirected, .throttled, .server] as [FetchFailure])
    func verifiedWords(_ failure: FetchFailure) {
        var watch = suspected()
        fails(&watch, 0, failure, at: 3)
        #expect(watch.takeNews() == [.suspected, .ended(.verified)])
    }

    @Test("a provider to which no route leads is not waited for, nor is a shadow")
    func unreachable() {
        var watch = watch(shadows: 1)
        watch.heard(.unreachable([RankedID(1)]), now: at(0))
        fails(&watch, 0, .tls, at: 0)
        answers(&watch, .system, at: 1)
        #expect(watch.isSuspected)
    }

    @Test("nothing is suspected without a provider or without a system resolver")
    func alone() {
        var alone = watch(verifies: [])
        answers(&alone, .system, at: 1)
        #expect(!alone.isSuspected)
        var systemless = watch(hasSystem: false)
        fails(&systemless, 0, .tls, at: 0)
        fails(&systemless, 1, .tls, at: 0)
        answers(&systemless, .system, at: 1)
        #expect(!systemless.isSuspected)
    }

    // MARK: end

    @Test("a portal is suspected for ten minutes, and not again for ten more")
    func limit() {
        var watch = suspected()
        watch.timePassed(now: at(601))
        #expect(watch.isSuspected)
        watch.timePassed(now: at(602))
        #expect(watch.takeNews() == [.suspected, .ended(.timeLimit)])
        #expect(watch.nextDeadline == nil)
        for (seconds, isSuspected) in [(610.0, false), (1201, false), (1203, true)] {
            fails(&watch, 0, .tls, at: seconds)
            fails(&watch, 1, .tls, at: seconds)
            answers(&watch, .system, at: seconds)
            #expect(watch.isSuspected == isSuspected, "\(seconds)")
        }
    }

    @Test("another network begins anew, a rest included")
    func otherNetwork() {
        var watch = suspected()
        _ = watch.takeNews()
        watch.heard(.changed(NetworkID(rawValue: 2)), now: at(3))
        #expect(watch.takeNews() == [.ended(.networkChanged)])
        // Failures on the former network do not count.
        fails(&watch, 0, .tls, at: 4)
        answers(&watch, .system, at: 4)
        #expect(!watch.isSuspected)
        fails(&watch, 1, .tls, at: 4)
        #expect(watch.isSuspected)
        watch.timePassed(now: at(700))
        watch.heard(.changed(NetworkID(rawValue: 3)), now: at(701))
        fails(&watch, 0, .tls, at: 702)
        fails(&watch, 1, .tls, at: 702)
        answers(&watch, .system, at: 702)
        #expect(watch.isSuspected)
    }

    @Test("news of a network that stays changes nothing")
    func sameNetwork() {
        var watch = suspected()
        for news in [NetworkEvent.changing, .unchanged, .forgotten(NetworkID(rawValue: 9))] {
            watch.heard(news, now: at(3))
        }
        #expect(watch.takeNews() == [.suspected])
    }

    @Test("a provider without TLS is hindered by redirects and garbage, and proves nothing beside one that has it")
    func plain() {
        var watch = watch(verifies: [false, true])
        fails(&watch, 0, .redirected, at: 0)
        fails(&watch, 1, .tls, at: 0)
        answers(&watch, .system, at: 0)
        #expect(watch.isSuspected)
        answers(&watch, .provider(ProviderID(0)), at: 1)
        #expect(watch.isSuspected)
        answers(&watch, .provider(ProviderID(1)), at: 2)
        #expect(!watch.isSuspected)
    }

    @Test("a wrong body is no sign of a portal while the provider answers other questions")
    func wrongBody() {
        var watch = watch(verifies: [false])
        answers(&watch, .provider(ProviderID(0)), at: 0)
        fails(&watch, 0, .garbage, at: 29)
        answers(&watch, .system, at: 29)
        #expect(!watch.isSuspected)
        fails(&watch, 0, .garbage, at: 31)
        answers(&watch, .system, at: 31)
        #expect(watch.isSuspected)
        var redirected = self.watch(verifies: [false])
        answers(&redirected, .provider(ProviderID(0)), at: 0)
        fails(&redirected, 0, .redirected, at: 1)
        answers(&redirected, .system, at: 1)
        #expect(redirected.isSuspected)
    }

    // MARK: trials

    @Test("one provider after the other is tried, one at a time and every two seconds")
    func trials() {
        var watch = suspected()
        #expect(watch.nextDeadline == at(4))
        #expect(trial(&watch, at: 3.9) == nil)
        #expect(trial(&watch, at: 4) == 1)
        watch.trialBegan(FetchID(number: 1))
        #expect(watch.nextDeadline == at(602))
        #expect(trial(&watch, at: 6) == nil)
        watch.trialEnded(FetchID(number: 7))
        #expect(trial(&watch, at: 6) == nil)
        watch.trialEnded(FetchID(number: 1))
        #expect(trial(&watch, at: 6) == 0)
        watch.trialBegan(FetchID(number: 2))
        watch.trialEnded(FetchID(number: 2))
        #expect(watch.nextDeadline == at(8))
        #expect(trial(&watch, at: 8) == 1)
    }

    @Test("a provider that is paused, unreachable or unverifiable is not tried")
    func notTried() {
        var watch = watch(verifies: [true, false, true])
        for provider in 0..<3 { fails(&watch, provider, provider == 1 ? .garbage : .tls, at: 0) }
        answers(&watch, .system, at: 0)
        for turn in 1...4 {
            let tried = watch.takeTrial(now: at(Double(2 * turn))) { $0 != ProviderID(0) }
            #expect(tried?.provider == ProviderID(2))
        }
        watch.heard(.unreachable([RankedID(2)]), now: at(9))
        #expect(watch.takeTrial(now: at(10)) { $0 != ProviderID(0) } == nil)
        #expect(watch.nextDeadline == at(12))
    }

    @Test("without a question of a client no provider is tried")
    func noQuestion() {
        var watch = PortalWatch()
        watch.keep([ProviderTraits(id: RankedID(0), types: .any)], hasSystem: true, now: at(0))
        fails(&watch, 0, .tls, at: 0)
        answers(&watch, .system, at: 0)
        #expect(watch.isSuspected)
        #expect(trial(&watch, at: 2) == nil)
        #expect(watch.nextDeadline == at(600))
    }
}
