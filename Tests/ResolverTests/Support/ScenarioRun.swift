// Runs a scenario on virtual time. Every action must be expected, in its order. Every deadline must be a step or lie in
// a time that passes. At the end nothing may be in flight. A model of the cache informs the resolver; the scenario
// decides whether it also answers clients.

import DNSWire
import TestSupport

@testable import Resolver

struct ScenarioRun {
    private typealias Expectation = ScenarioVocabulary.Expectation

    private let script: ScenarioScript
    private var vocabulary = ScenarioVocabulary()
    private var policy = ScenarioPolicy()
    private var cache = ScenarioCache()
    private var resolver = Resolver(seed: 1)
    private let origin = Instant.testStart
    private var now: Instant
    private var running: [Fetch] = []
    private var ended: [Fetch] = []
    /// Fetches that are not sent yet.
    private var unsent: Set<FetchID> = []
    private var probes: [(id: ProbeID, target: ProbeTarget)] = []
    private var happened: [(what: Expectation, at: Instant)] = []

    private struct Fetch {
        let id: FetchID
        let upstream: String
        let question: Question
    }

    /// Deadlines are sums of fractions; a scenario writes them to the microsecond.
    private static let rounding: Duration = .microseconds(1)
    /// The limit of wakes in one step; more mean that the resolver wakes repeatedly without need.
    private static let maxWakes = 5000

    /// - Throws: `ScenarioError` with the line at which the resolver acted differently.
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

    /// Reads the given lines: upstreams, "hosts LINE", "cache", and settings.
    private mutating func takeGiven() throws {
        var upstreams: [ScenarioLine] = []
        var settings: [ScenarioLine] = []
        var failed: [ScenarioLine] = []
        var hosts = ""
        cache.isUsed = false
        for given in script.given {
            var line = given
            if line.take("hosts") {
                hosts += line.rest() + "\n"
            } else if line.take("cache") {
                cache.isUsed = true
                try line.end()
            } else if line.begins(with: "provider") || line.begins(with: "system") {
                upstreams.append(line)
            } else if line.take("earlier-failure") {
                failed.append(line)
            } else {
                settings.append(line)
            }
        }
        let announced = try vocabulary.upstreams(upstreams)
        for var line in settings where try !policy.change(&line, providers: vocabulary.providerNames) {
            throw line.error("nothing that can be given")
        }
        try handle(.policyChanged(policy.policy))
        try handle(.hostsChanged(HostsFiles([HostsTable(parsing: Array(hosts.utf8))])))
        try handle(announced)
        for var line in failed { try failEarlier(&line) }
    }

    private mutating func failEarlier(_ line: inout ScenarioLine) throws {
        for (provider, failure, domain) in try vocabulary.earlierFailures(&line) {
            resolver.state.ranking.failed(provider, failure, of: domain, now: max(origin, now - .seconds(3)))
        }
    }

    private mutating func take(_ step: ScenarioScript.Step) throws {
        happened = []
        if step.events.isEmpty { try pass(until: origin + step.time, step.line) }
        for line in step.events { try happen(line, at: origin + step.time) }
        var expected: [ExpectedAction] = []
        for var line in step.expectations {
            if line.take("wake") {
                try expectWake(origin + (try line.duration()), line)
            } else if line.take("state") {
                try expectState(&line)
            } else if !line.take("nothing") {
                expected.append(try expectedAction(&line))
            }
            try line.end()
        }
        for (action, expectation) in zip(happened, expected) { try check(action, expectation) }
        if let missing = expected.dropFirst(happened.count).first {
            throw missing.line.error("expected \(missing.what), but nothing came")
        }
        if let surplus = happened.dropFirst(expected.count).first {
            throw step.line.error("not expected: \(surplus.what) at \(milliseconds(surplus.at)) ms")
        }
    }

    private func checkTheEnd() throws {
        let lookups = resolver.lookupsInFlight
        // Planned refreshes and probes never end.
        let plansAhead = policy.allowsPrefetch || policy.policy.probes.isEnabled
        let deadline = lookups == 0 && plansAhead ? nil : resolver.nextDeadline
        guard running.isEmpty, lookups == 0, deadline == nil else {
            let until = deadline.map { "\(milliseconds($0)) ms" } ?? "never"
            throw ScenarioError(
                description: "\(script.file): the end, but \(lookups) lookups wait until \(until), "
                    + "and \(running.count) fetches run")
        }
    }

    // MARK: what happens

    private mutating func happen(_ given: ScenarioLine, at time: Instant) throws {
        var line = given
        now = time
        if line.take("wakes") {
            // A late clock may only pass a deadline.
            if !line.take("late") {
                try expectWake(time, line)
                now = resolver.nextDeadline ?? time
            }
            try handle(.timePassed)
            return try line.end()
        }
        if let due = resolver.nextDeadline, due < now - ScenarioRun.rounding {
            throw line.error("the deadline at \(milliseconds(due)) ms is not a step")
        }
        if line.take("earlier-failure") { return try failEarlier(&line) }
        if line.take("client") {
            try ask(&line)
        } else if line.take("upstreams") {
            try handle(try vocabulary.upstreams(line.take("none") ? [] : line.parts(",")))
            _ = line.rest()
        } else if line.take("hosts") {
            try handle(.hostsChanged(HostsFiles([HostsTable(parsing: Array(line.rest().utf8))])))
        } else if line.take("nat64") {
            let synthesises = !line.take("without-dns64")
            try handle(.nat64Prefixes(try vocabulary.prefixes(&line), synthesises: synthesises))
        } else if line.take("requested") {
            try handle(.requested(try questions(&line)))
        } else if line.take("restored") {
            try restore(&line)
        } else if let event = try fromElsewhere(&line) {
            try handle(event)
        } else if line.take("volunteers") {
            try handle(try vocabulary.volunteered(&line))
        } else if line.take("switch") {
            try handle(try switched(&line))
        } else if line.take("network") {
            let news = try vocabulary.network(&line)
            cache.heard(news)
            try handle(.network(news))
        } else if let change = try standing(&line) {
            try handle(change)
        } else if line.take("probe") {
            try handle(try probeFinished(&line))
        } else if line.take("redirected") {
            try handle(.redirected(try vocabulary.name(&line)))
        } else if line.take("verify") {
            let name = try vocabulary.name(&line)
            try handle(.probeRequested(name, line.isAtEnd ? nil : try vocabulary.address(&line)))
        } else if line.take("reset") {
            try handle(.providerReset(line.take("all") ? nil : try vocabulary.providerID(&line)))
        } else if try policy.change(&line, providers: vocabulary.providerNames) {
            try handle(.policyChanged(policy.policy))
        } else {
            let upstream = try vocabulary.upstreamName(&line)
            try handle(try held(upstream, &line) ?? fetchFinished(upstream, &line))
        }
        try line.end()
    }

    private mutating func pass(until end: Instant, _ line: ScenarioLine) throws {
        var wakes = 0
        while let due = resolver.nextDeadline, due <= end + ScenarioRun.rounding {
            wakes += 1
            guard wakes <= ScenarioRun.maxWakes else { throw line.error("it wakes and wakes") }
            now = max(now, due)
            try handle(.timePassed)
        }
        now = end
    }

    /// Asks for a client. A cached answer reaches the client at once; the resolver learns only of due and missing ones.
    private mutating func ask(_ line: inout ScenarioLine) throws {
        let (waiter, asked, isCacheOnly) = try vocabulary.asked(&line)
        let question = asked.with(resolver.carriedBits(of: asked, now: now))
        guard cache.isUsed, let hit = cache.ask(question, isCacheOnly: isCacheOnly, now: now) else {
            return try handle(.asked(question, waiter, isCacheOnly: isCacheOnly))
        }
        happened.append((.reply(waiter.number, hit.answer, from: "cache"), now))
        if hit.isFirstWhenDue { try handle(.prefetchDue(question)) }
        if hit.isAwaited { try handle(.servedAgain(question)) }
    }

    /// Reads "NAME TYPE, NAME TYPE ...".
    private mutating func questions(_ line: inout ScenarioLine) throws -> [Question] {
        var questions: [Question] = []
        for var part in line.parts(",") {
            questions.append(try vocabulary.newQuestion(&part))
            try part.end()
        }
        _ = line.rest()
        return questions
    }

    /// Reads "NAME TYPE ANSWER old AGE asked RATE, ...", with the rate in questions per hour.
    private mutating func restore(_ line: inout ScenarioLine) throws {
        var restored: [RestoredAnswer] = []
        for var part in line.parts(",") {
            let question = try vocabulary.newQuestion(&part)
            let answer = try vocabulary.answer(&part, to: question)
            try part.require("old")
            let age = try part.duration()
            try part.require("asked")
            let perHour: Int = try part.number("questions per hour")
            try part.end()
            cache.store(question, answer, isSystems: false, age: age, now: now)
            restored.append(
                RestoredAnswer(
                    question, demandPerSecond: Double(perHour) / 3600, lifetimeSeconds: answer.ttlSeconds,
                    expiresAt: now - age + .seconds(Int64(answer.ttlSeconds)), isNegative: answer.kind != .records))
        }
        _ = line.rest()
        try handle(.restored(restored))
    }

    /// Reads "flush NAME TYPE|all", "flush-all-members NAME TYPE|all", "demand-elsewhere NAME TYPE PER-HOUR", "evidence
    /// NAME ADDRESS" or "answered-from-cache CLIENT"; else returns nil.
    private mutating func fromElsewhere(_ line: inout ScenarioLine) throws -> Event? {
        if line.take("flush") { return .forgotten(try forgotten(&line)) }
        if line.take("flush-all-members") { return .flushed(try forgotten(&line)) }
        if line.take("evidence") { return .evidence(try vocabulary.name(&line), try vocabulary.address(&line)) }
        if line.take("answered-from-cache") {
            return .answeredFromCache([Waiter(try line.number("a client's number"))])
        }
        guard line.take("demand-elsewhere") else { return nil }
        let question = try vocabulary.newQuestion(&line)
        let perHour: Int = try line.number("questions per hour")
        return .demandElsewhere(question, perSecond: Double(perHour) / 3600)
    }

    /// Reads "NAME TYPE" or "all".
    private mutating func forgotten(_ line: inout ScenarioLine) throws -> QuestionScope {
        let question = line.take("all") ? nil : try vocabulary.newQuestion(&line)
        cache.forget(question)
        return question.map { QuestionScope($0.name, type: $0.type) } ?? .everything
    }

    /// Reads "on" or "off NAME|all [until TIME]".
    private func switched(_ line: inout ScenarioLine) throws -> Event {
        if line.take("on") { return .switchedOff([:]) }
        try line.require("off")
        let text = try line.word("a name or all")
        guard let name = text == "all" ? .root : Name(text) else { throw line.error("\"\(text)\" is no name") }
        return .switchedOff([name: line.take("until") ? origin + (try line.duration()) : nil])
    }

    /// Reads "UPSTREAM answers [late] [for NAME TYPE] ANSWER", likewise "fails ... FAILURE" and "replies ... RCODE [ede
    /// CODE]". The word "late" means that the resolver already has the result or does not need it.
    private mutating func fetchFinished(_ upstream: String, _ line: inout ScenarioLine) throws -> Event {
        let isAnswer = line.take("answers")
        let isReply = !isAnswer && line.take("replies")
        let isRefusal = !isAnswer && !isReply && line.take("refuses")
        let isOmission = !isAnswer && !isReply && !isRefusal && line.take("omits")
        if !isAnswer, !isReply, !isRefusal, !isOmission { try line.require("fails") }
        let isLate = line.take("late")
        let fetch = try fetch(from: upstream, isLate: isLate, &line)
        if !isLate { end(fetch) }
        guard !isAnswer else {
            return .fetchFinished(fetch.id, .success(try vocabulary.answer(&line, to: fetch.question)))
        }
        guard !isReply else { return .fetchFinished(fetch.id, .nameFailed(try vocabulary.nameFailure(&line))) }
        guard !isRefusal else { return .fetchFinished(fetch.id, .notServed) }
        guard !isOmission else { return .fetchFinished(fetch.id, .omitted) }
        let word = try line.word("a failure")
        guard let failure = FetchFailure(rawValue: word) else { throw line.error("\"\(word)\" is no failure") }
        return .fetchFinished(fetch.id, .failure(failure))
    }

    /// Reads "[for NAME TYPE]", and returns the last such fetch from the upstream that runs, or that has ended.
    private func fetch(from upstream: String, isLate: Bool, _ line: inout ScenarioLine) throws -> Fetch {
        let question = try vocabulary.meantQuestion(&line)
        let candidates = isLate ? ended : running
        guard let fetch = candidates.last(where: { $0.upstream == upstream && $0.question == question }) else {
            throw line.error("no fetch from \(upstream) \(isLate ? "has ended" : "runs") for \(question)")
        }
        return fetch
    }

    /// Reads "waits [overdue]", "awaits-fleet", "is-sent", "shares [late] ANSWER" or "deferred until TIME", with "for
    /// NAME TYPE" if it is ambiguous; else returns nil. A shared or deferred result ends a fetch that is not sent.
    private mutating func held(_ upstream: String, _ line: inout ScenarioLine) throws -> Event? {
        let words = ["waits", "awaits-fleet", "is-sent", "shares", "deferred"]
        guard let word = words.first(where: { line.take($0) }) else { return nil }
        let isOverdue = line.take("overdue")
        let fetch = try fetch(from: upstream, isLate: word == "shares" && line.take("late"), &line)
        switch word {
        case "waits", "awaits-fleet":
            unsent.insert(fetch.id)
            return word == "waits" ? .fetchWaits(fetch.id, isOverdue: isOverdue) : .fetchAwaitsFleet(fetch.id)
        case "is-sent":
            unsent.remove(fetch.id)
            return .fetchSent(fetch.id)
        default: if unsent.remove(fetch.id) != nil { end(fetch) }
        }
        guard word == "deferred" else {
            return .fetchShared(fetch.id, try vocabulary.answer(&line, to: fetch.question))
        }
        try line.require("until")
        return .fetchDeferred(fetch.id, until: origin + (try line.duration()))
    }

    /// Reads "throttled PROVIDER for TIME", "unacknowledged PROVIDER" or "over-quota PROVIDER [until TIME]"; else
    /// returns nil.
    private func standing(_ line: inout ScenarioLine) throws -> Event? {
        if line.take("throttled") { return try vocabulary.throttled(&line) }
        if line.take("unacknowledged") { return .unacknowledged(try vocabulary.providerID(&line)) }
        guard line.take("over-quota") else { return nil }
        let provider = try vocabulary.providerID(&line)
        return .overQuota(provider, until: line.take("until") ? origin + (try line.duration()) : nil)
    }

    /// Reads "TARGET finds VERDICT [in TIME]", with the time of the handshake.
    private mutating func probeFinished(_ line: inout ScenarioLine) throws -> Event {
        let target = try vocabulary.target(&line)
        guard let index = probes.firstIndex(where: { $0.target == target }) else {
            throw line.error("no probe of \(target) runs")
        }
        try line.require("finds")
        let word = try line.word("a verdict")
        guard let verdict = Verdict(rawValue: word) else { throw line.error("\"\(word)\" is no verdict") }
        var result = ProbeResult(verdict)
        if line.take("in") { result.handshakeTime = try line.duration() }
        return .probeFinished(probes.remove(at: index).id, result)
    }

    private mutating func handle(_ event: Event) throws {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        for action in actions { try perform(action) }
    }

    private mutating func perform(_ action: Action) throws {
        switch action {
        case .fetch(let id, let question, let upstream, _):
            running.append(Fetch(id: id, upstream: vocabulary.name(upstream), question: question))
            happened.append((.fetch(question, from: vocabulary.name(upstream)), now))
        case .shadow(let id, let question, let provider):
            let name = vocabulary.name(Upstream.provider(provider))
            running.append(Fetch(id: id, upstream: name, question: question))
            happened.append((.shadow(question, from: name), now))
        case .abandon(let id):
            guard let fetch = running.first(where: { $0.id == id }) else {
                throw ScenarioError(description: "\(script.file): a fetch that does not run is abandoned")
            }
            end(fetch)
            happened.append((.abandon(fetch.question, from: fetch.upstream), now))
        case .store(let question, let answer, let source, _):
            cache.store(question, answer, isSystems: source == .system, now: now)
            happened.append((.store(question, answer, from: vocabulary.name(source)), now))
        case .reply(let waiter, let answer, let source):
            happened.append((.reply(waiter.number, answer, from: vocabulary.name(source)), now))
        case .replyExpired(let waiter, let expired, let cause):
            let error = expired.extendedError.code
            happened.append((.replyExpired(waiter.number, expired.answer, cause, extendedError: error), now))
        case .rearrange(let question, let answer, let source, _):
            cache.rearrange(question, answer, isSystems: source == .system)
            happened.append((.rearrange(question, answer, from: vocabulary.name(source)), now))
        case .remove(let question):
            cache.forget(question)
            happened.append((.remove(question), now))
        case .withdraw(let question, let source):
            cache.withdraw(question, isSystems: source == .system)
            happened.append((.withdraw(question, from: vocabulary.name(source)), now))
        case .doubt(let news): happened.append((.doubt(news.word), now))
        case .portal(let news):
            cache.forget(behind: news)
            happened.append((.portal(news), now))
        case .awaitAsk(let question, let source):
            cache.awaitHit(question, isSystems: source == .system)
            happened.append((.awaitAsk(question, from: vocabulary.name(source)), now))
        case .probe(let id, let target):
            probes.append((id, target))
            happened.append((.probe(target), now))
        case .probeNews(.found): break
        case .probeNews(.refused(_, let address, let reason)): happened.append((.refuse(address, reason), now))
        case .forged(let evidence):
            let (mismatched, verified) = (evidence.mismatched, evidence.verified)
            let sources = (vocabulary.name(mismatched.source), vocabulary.name(verified.source))
            happened.append(
                (.forged(mismatched.target.address, sources.0, verified.target.address, sources.1), now))
        case .contradicted(let answer):
            happened.append((.contradicted(answer.question, from: vocabulary.name(answer.source)), now))
        case .fail(let waiter, let extendedError, let code):
            happened.append((.fail(waiter.number, extendedError: extendedError.code, code), now))
        }
    }

    private mutating func end(_ fetch: Fetch) {
        running.removeAll { $0.id == fetch.id }
        ended.append(fetch)
    }

    private struct ExpectedAction {
        let line: ScenarioLine
        let what: Expectation
        /// The time of the action; nil: any instant of the step.
        let when: ClosedRange<Instant>?
    }

    /// Reads an expectation of the vocabulary, followed by "between TIME and TIME" for actions that are spread in time.
    private func expectedAction(_ line: inout ScenarioLine) throws -> ExpectedAction {
        let whole = line
        let what = try vocabulary.expectation(&line)
        guard line.take("between") else { return ExpectedAction(line: whole, what: what, when: nil) }
        let first = origin + (try line.duration())
        try line.require("and")
        let last = origin + (try line.duration())
        guard first <= last else { throw line.error("time goes backwards") }
        let range = first - ScenarioRun.rounding...last + ScenarioRun.rounding
        return ExpectedAction(line: whole, what: what, when: range)
    }

    private func check(_ action: (what: Expectation, at: Instant), _ expected: ExpectedAction) throws {
        guard action.what == expected.what else {
            throw expected.line.error("expected \(expected.what), but came \(action.what)")
        }
        guard expected.when?.contains(action.at) ?? true else {
            throw expected.line.error("it came at \(milliseconds(action.at)) ms")
        }
    }

    private func expectWake(_ time: Instant, _ line: ScenarioLine) throws {
        guard let deadline = resolver.nextDeadline else { throw line.error("no deadline waits") }
        guard (time - ScenarioRun.rounding...time + ScenarioRun.rounding).contains(deadline) else {
            throw line.error("the deadline is at \(milliseconds(deadline)) ms")
        }
    }

    private func expectState(_ line: inout ScenarioLine) throws {
        let state = resolver.state(of: try vocabulary.rankedID(&line), now: now)
        let word = try line.word("a state")
        guard state?.rawValue == word else { throw line.error("the state is \(state?.rawValue ?? "not known")") }
    }

    private func milliseconds(_ time: Instant) -> Double { (time - origin) / .milliseconds(1) }
}
