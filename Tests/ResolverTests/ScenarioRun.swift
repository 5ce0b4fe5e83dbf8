// Runs a scenario on virtual time. Every action must be expected, in its order; every deadline must be a step; and at
// the end nothing may be left over.

import DNSWire
import TestSupport

@testable import Resolver

struct ScenarioRun {
    private let script: ScenarioScript
    private var vocabulary = ScenarioVocabulary()
    private var resolver = Resolver(seed: 1)
    private let origin = ContinuousClock.now
    private var now: Instant
    private var running: [Fetch] = []
    private var ended: [Fetch] = []

    private struct Fetch {
        let id: FetchID
        let upstream: String
        let question: Question
    }

    /// Deadlines are sums of fractions; a scenario writes them to the microsecond.
    private static let rounding: Duration = .microseconds(1)

    /// - Throws: `ScenarioError` with the line at which the resolver did something else.
    static func run(_ script: ScenarioScript) throws {
        var run = ScenarioRun(script)
        try run.takeGiven()
        for step in script.steps { try run.take(step) }
        try run.checkTheEnd()
    }

    private init(_ script: ScenarioScript) {
        self.script = script
        now = origin
    }

    private mutating func takeGiven() throws {
        var upstreams: [ScenarioLine] = []
        var hosts = ""
        var unplanned = Policy()
        unplanned.prefetches = false
        _ = try handle(.policyChanged(unplanned))
        for given in script.given {
            var line = given
            if line.take("hosts") {
                hosts += line.rest() + "\n"
            } else if line.take("ttl") {
                _ = try handle(.policyChanged(try vocabulary.policy(&line)))
            } else {
                upstreams.append(line)
            }
        }
        _ = try handle(.hostsChanged(HostsTable(parsing: Array(hosts.utf8))))
        _ = try handle(try vocabulary.upstreams(upstreams))
    }

    private mutating func take(_ step: ScenarioScript.Step) throws {
        var actions: [ScenarioVocabulary.Expectation] = []
        for line in step.events { actions += try handle(try event(line, at: origin + step.time)) }
        var expected: [(line: ScenarioLine, what: ScenarioVocabulary.Expectation)] = []
        for var line in step.expectations {
            if line.take("wake") {
                try expectWake(origin + (try line.duration()), line)
            } else if !line.take("nothing") {
                expected.append((line, try vocabulary.expectation(&line)))
            }
            try line.end()
        }
        for (action, expectation) in zip(actions, expected) where action != expectation.what {
            throw expectation.line.error("expected \(expectation.what), but came \(action)")
        }
        if let missing = expected.dropFirst(actions.count).first {
            throw missing.line.error("expected \(missing.what), but nothing came")
        }
        if let surplus = actions.dropFirst(expected.count).first {
            throw step.events[0].error("not expected: \(surplus)")
        }
    }

    private func checkTheEnd() throws {
        guard let deadline = resolver.nextDeadline else {
            guard running.isEmpty, resolver.lookupsInFlight == 0 else {
                throw ScenarioError(description: "\(script.file): the end, but something is in flight")
            }
            return
        }
        let lookups = resolver.lookupsInFlight
        throw ScenarioError(
            description: "\(script.file): the end, but \(lookups) lookups wait until \(milliseconds(deadline)) ms")
    }

    // MARK: what happens

    private mutating func event(_ given: ScenarioLine, at time: Instant) throws -> Event {
        var line = given
        now = time
        if line.take("wakes") {
            // Sleeping through a deadline is all that a clock can do.
            if line.take("late") { return .timePassed }
            try expectWake(time, line)
            now = resolver.nextDeadline ?? time
            return .timePassed
        }
        if let due = resolver.nextDeadline, due < now - ScenarioRun.rounding {
            throw line.error("the deadline at \(milliseconds(due)) ms is not a step")
        }
        let event: Event
        if line.take("client") {
            event = try vocabulary.asked(&line)
        } else if line.take("upstreams") {
            event = try vocabulary.upstreams(line.take("none") ? [] : line.parts(","))
            _ = line.rest()
        } else if line.take("hosts") {
            event = .hostsChanged(HostsTable(parsing: Array(line.rest().utf8)))
        } else if line.take("ttl") {
            event = .policyChanged(try vocabulary.policy(&line))
        } else {
            event = try fetchFinished(&line)
        }
        try line.end()
        return event
    }

    /// "UPSTREAM answers [late] [for NAME TYPE] ANSWER" or "UPSTREAM fails [late] [for NAME TYPE] FAILURE"; late means
    /// that the resolver has the result already or does not want it.
    private mutating func fetchFinished(_ line: inout ScenarioLine) throws -> Event {
        let upstream = try vocabulary.upstreamName(&line)
        let isAnswer = line.take("answers")
        if !isAnswer { try line.require("fails") }
        let isLate = line.take("late")
        let question = try vocabulary.meantQuestion(&line)
        let candidates = isLate ? ended : running
        guard let fetch = candidates.last(where: { $0.upstream == upstream && $0.question == question }) else {
            throw line.error("no fetch from \(upstream) \(isLate ? "has ended" : "runs") for \(question)")
        }
        if !isLate { end(fetch) }
        guard !isAnswer else { return .fetchFinished(fetch.id, .success(try vocabulary.answer(&line, to: question))) }
        let word = try line.word("a failure")
        guard let failure = FetchFailure(rawValue: word) else { throw line.error("\"\(word)\" is no failure") }
        return .fetchFinished(fetch.id, .failure(failure))
    }

    private func expectWake(_ time: Instant, _ line: ScenarioLine) throws {
        guard let deadline = resolver.nextDeadline else { throw line.error("no deadline waits") }
        guard (time - ScenarioRun.rounding...time + ScenarioRun.rounding).contains(deadline) else {
            throw line.error("the deadline is at \(milliseconds(deadline)) ms")
        }
    }

    private func milliseconds(_ instant: Instant) -> Double { (instant - origin) / .milliseconds(1) }

    // MARK: what comes of it

    private mutating func handle(_ event: Event) throws -> [ScenarioVocabulary.Expectation] {
        var actions: [Action] = []
        resolver.handle(event, now: now, actions: &actions)
        return try actions.map { try translated($0) }
    }

    private mutating func translated(_ action: Action) throws -> ScenarioVocabulary.Expectation {
        switch action {
        case .fetch(let id, let question, let upstream):
            running.append(Fetch(id: id, upstream: vocabulary.name(upstream), question: question))
            return .fetch(question, from: vocabulary.name(upstream))
        case .abandon(let id):
            guard let fetch = running.first(where: { $0.id == id }) else {
                throw ScenarioError(description: "\(script.file): a fetch that does not run is abandoned")
            }
            end(fetch)
            return .abandon(fetch.question, from: fetch.upstream)
        case .store(let question, let answer, let source):
            return .store(question, answer, from: vocabulary.name(source))
        case .reply(let waiter, let answer, let source):
            return .reply(waiter.number, answer, from: vocabulary.name(source))
        case .replyExpired(let waiter, let expired, let cause):
            return .replyExpired(waiter.number, expired, cause)
        case .countHits(let questions): return .countHits(questions)
        case .fail(let waiter, let extendedError): return .fail(waiter.number, extendedError: extendedError.code)
        }
    }

    private mutating func end(_ fetch: Fetch) {
        running.removeAll { $0.id == fetch.id }
        ended.append(fetch)
    }
}
