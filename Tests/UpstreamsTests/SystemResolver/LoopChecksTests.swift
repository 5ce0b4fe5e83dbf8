// Nameservers that forward to the daemon: a random name detects them, and they are left out until they stop forwarding.

import DNSWire
import Resolver
import TestSupport
import Testing

@testable import Upstreams

@Suite("Loop checks")
struct LoopChecksTests {
    private let servers = [Nameserver(.v4(0xC000_0201)), Nameserver(.v4(0xC000_0202))]
    private let start = Instant.testStart

    /// The checks of some servers, with a clock.
    private struct Stand {
        var checks = LoopChecks()
        var randomness: SeededRandom
        var now: Instant
        /// The question of each server's newest check.
        var tokens: [Nameserver: Question] = [:]

        mutating func take(_ actions: [LoopChecks.Action]) -> [LoopChecks.Action] {
            for case .ask(let check) in actions { tokens[check.server] = check.question }
            return actions
        }

        mutating func set(_ servers: [Nameserver]) -> [LoopChecks.Action] {
            take(checks.setServers(servers, now: now, randomness: &randomness))
        }

        /// The actions for a question; nil: it is a client's.
        mutating func ask(_ question: Question) -> [LoopChecks.Action]? {
            checks.clientAsked(question, now: now, randomness: &randomness)
        }

        mutating func returnToken(of server: Nameserver) throws -> [LoopChecks.Action]? {
            ask(try #require(tokens[server]))
        }

        mutating func returnQuestion() -> [LoopChecks.Action] {
            take(checks.questionReturned(now: now, randomness: &randomness))
        }

        mutating func finish(_ server: Nameserver, isAnswered: Bool) throws -> [LoopChecks.Action] {
            checks.checkFinished(try #require(tokens[server]), isAnswered: isAnswered, now: now)
        }

        /// Moves the clock to the next deadline.
        mutating func wait() throws -> [LoopChecks.Action] {
            now = try #require(checks.nextDeadline)
            return take(checks.timePassed(now: now, randomness: &randomness))
        }
    }

    private func stand(_ seed: UInt64 = 5) -> Stand {
        var stand = Stand(randomness: SeededRandom(seed: seed), now: start)
        _ = stand.set(servers)
        return stand
    }

    private func asked(_ actions: [LoopChecks.Action]) -> [Nameserver] {
        actions.compactMap { if case .ask(let check) = $0 { check.server } else { nil } }
    }

    @Test("each server has a token of its own, and its return has the server left out, once")
    func tokens() throws {
        var stand = stand()
        #expect(stand.checks.askable == servers && stand.tokens.count == 2)
        let token = try #require(stand.tokens[servers[1]])
        #expect(token != stand.tokens[servers[0]])
        #expect(token.type == .txt && token.name.labels.first?.count == 16)
        #expect(stand.ask(Question(token.name, .a)) == nil, "another type is a client's own question")
        let shouted = try #require(Name(token.name.description.uppercased()))
        #expect(stand.ask(Question(shouted, .txt)) == [.leaveOut(servers[1])])
        #expect(stand.checks.askable == [servers[0]] && stand.checks.looping == [servers[1]])
        #expect(stand.ask(token) == [], "it gets no answer, and says nothing new")
    }

    @Test("a replaced token is no client's question either, and leaves no server out")
    func replaced() throws {
        var stand = stand()
        let old = try #require(stand.tokens[servers[0]])
        _ = stand.set(servers)
        #expect(stand.ask(old) == [])
        #expect(stand.checks.askable == servers)
        stand.now += LoopChecks.lifetime
        #expect(stand.ask(old) == [], "a forwarder repeats a query for longer than the token is valid")
        stand.now = start + LoopChecks.ownFor
        #expect(stand.ask(old) == nil)
    }

    @Test("the number of remembered tokens is bounded")
    func bounded() throws {
        var stand = stand()
        let old = try #require(stand.tokens[servers[0]])
        for _ in 0..<LoopChecks.maxGiven / servers.count - 1 { _ = stand.set(servers) }
        #expect(stand.ask(old) == [])
        _ = stand.set(servers)
        #expect(stand.ask(old) == nil)
    }

    @Test("a guessed and an overheard token do nothing")
    func strangers() throws {
        var stand = stand()
        let old = try #require(stand.tokens[servers[0]])
        let suffix = old.name.description.drop { $0 != "." }
        let guess = try #require(Name("0123456789abcdef" + suffix))
        #expect(stand.ask(Question(guess, .txt)) == nil)
        stand.now += LoopChecks.lifetime
        #expect(try stand.returnToken(of: servers[0]) == [])
        #expect(stand.checks.askable == servers)
    }

    @Test("a server that was left out is tried with a token alone, and taken back when it answers", arguments: 0..<20)
    func takenBack(seed: UInt64) throws {
        var stand = stand(seed)
        _ = try stand.returnToken(of: servers[0])
        let old = stand.tokens[servers[0]]
        #expect(asked(try stand.wait()) == [servers[0]])
        #expect((LoopChecks.minPause...LoopChecks.maxPause).contains(start.duration(to: stand.now)), "seed \(seed)")
        #expect(stand.tokens[servers[0]] != old)
        #expect(stand.checks.askable == [servers[1]] && stand.checks.nextDeadline == nil)
        #expect(try stand.finish(servers[0], isAnswered: true) == [.takeBack(servers[0])])
        #expect(stand.checks.askable == servers)
        #expect(try stand.finish(servers[0], isAnswered: true) == [])
        #expect(try stand.returnToken(of: servers[0]) == [.leaveOut(servers[0])], "late, and true all the same")
    }

    @Test("while it still leads back, or says nothing, it is tried again without a word")
    func stillLooping() throws {
        var stand = stand()
        _ = try stand.returnToken(of: servers[0])
        for _ in 0..<10 {
            _ = try stand.wait()
            #expect(try stand.returnToken(of: servers[0]) == [])
            #expect(try stand.finish(servers[0], isAnswered: true) == [], "we ourselves may have answered")
            _ = try stand.wait()
            #expect(try stand.finish(servers[0], isAnswered: false) == [])
            #expect(stand.checks.askable == [servers[1]])
        }
    }

    @Test("two that lead to each other do not try at the same time for ever")
    func spread() throws {
        let pauses = try (0..<20 as Range<UInt64>).map { seed in
            var stand = stand(seed)
            _ = try stand.returnToken(of: servers[0])
            return try #require(stand.checks.nextDeadline)
        }
        #expect(Set(pauses).count > 5)
    }

    @Test("questions of ours that come back lead to another check of all that are asked, at a bounded pace")
    func suspicion() throws {
        var stand = stand()
        _ = try stand.returnToken(of: servers[0])
        #expect(stand.returnQuestion() == [], "one is chance")
        #expect(asked(stand.returnQuestion()) == [servers[1]])
        let old = try #require(stand.tokens[servers[1]])
        for _ in 0..<1000 { #expect(stand.returnQuestion() == []) }
        stand.now += LoopChecks.checkInterval
        #expect(asked(stand.returnQuestion()) == [servers[1]])
        #expect(stand.ask(old) == [])
        #expect(try stand.returnToken(of: servers[1]) == [.leaveOut(servers[1])])
        #expect(stand.checks.askable == [])
    }

    @Test("where servers change, one that led back must show first that it does not any more, and others need not")
    func serversChange() throws {
        var stand = stand()
        _ = try stand.returnToken(of: servers[0])
        let new = Nameserver(.v4(0xC000_0203))
        #expect(asked(stand.set([new, servers[0]])) == [new, servers[0]])
        #expect(stand.checks.askable == [new])
        #expect(try stand.returnToken(of: servers[0]) == [], "that is known")
        _ = stand.set([new, servers[0], servers[1]])
        #expect(try stand.finish(servers[0], isAnswered: true) == [.takeBack(servers[0])])
        #expect(stand.checks.askable == [new, servers[0], servers[1]])
        _ = stand.set([])
        #expect(stand.checks.askable == [] && stand.checks.nextDeadline == nil)
    }

    @Test("no order of events makes a storm of more than three checks for each server and minute", arguments: 0..<20)
    func noStorm(seed: UInt64) throws {
        var stand = stand(seed)
        var choice = SeededRandom(seed: seed + 1000)
        var checks = 0
        let minutes = 60
        while stand.now < start + .seconds(60 * minutes) {
            stand.now += .milliseconds(.random(in: 1...2000, using: &choice))
            switch Int.random(in: 0..<4, using: &choice) {
            case 0: checks += asked(stand.returnQuestion()).count
            case 1: _ = try stand.returnToken(of: servers[Int.random(in: 0..<2, using: &choice)])
            case 2:
                let server = servers[Int.random(in: 0..<2, using: &choice)]
                _ = try stand.finish(server, isAnswered: Bool.random(using: &choice))
            default:
                checks +=
                    asked(stand.take(stand.checks.timePassed(now: stand.now, randomness: &stand.randomness))).count
            }
        }
        #expect(checks <= 3 * servers.count * minutes, "seed \(seed)")
    }
}
