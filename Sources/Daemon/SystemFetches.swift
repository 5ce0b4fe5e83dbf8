// Carries out what the nameserver lookups decide: sockets opened, messages sent, what comes back reported. The lookups
// themselves are values in the Resolver module; nothing is decided here.

import DNSWire
import LinuxIO
import Resolver

final class SystemFetches {
    /// Asked in this order: those that resolv.conf or the settings name, without the ones that lead back to us.
    private(set) var servers: [Nameserver] = []
    private(set) var requests: UInt64 = 0
    private(set) var failures: UInt64 = 0
    /// Of lookups that have ended.
    private(set) var foreignReplies: UInt64 = 0

    private let loop: EventLoop
    private var randomness = SystemEntropy()
    private var jobs: [UInt64: Job] = [:]
    private var jobOfFetch: [FetchID: UInt64] = [:]
    private var nextJob: UInt64 = 0
    /// How many fetches have asked this and wait.
    private var awaited: [Question: Int] = [:]
    private var loopChecks = LoopChecks()
    private var loopNews: [LogEvent] = []
    private var finished: [(id: FetchID, result: Result<Answer, FetchFailure>)] = []

    /// Longer than any client waits; the resolver abandons a fetch before.
    private static let lookupTimeout: Duration = .seconds(5)

    private struct Job {
        var lookup: NameserverLookup
        /// Nil for a loop check.
        let fetch: FetchID?
        var exchanges: [NameserverLookup.ExchangeID: SystemExchange] = [:]
    }

    init(loop: EventLoop) {
        self.loop = loop
    }

    var nextDeadline: Instant? {
        let deadlines = jobs.values.compactMap(\.lookup.nextDeadline) + [loopChecks.nextDeadline].compactMap { $0 }
        return deadlines.min()
    }

    /// Each server is also asked a question that would come back to us if the server leads here.
    func setServers(_ servers: [Nameserver], now: Instant) {
        let actions = loopChecks.setServers(servers, now: now, randomness: &randomness)
        self.servers = loopChecks.askable
        perform(actions, now: now)
    }

    /// - Returns: true for what the client can know from a server of ours only. It gets no answer then.
    func clientAsked(_ question: Question, now: Instant) -> Bool {
        if let actions = loopChecks.clientAsked(question, now: now, randomness: &randomness) {
            perform(actions, now: now)
            return true
        }
        if awaited[question] != nil {
            perform(loopChecks.questionReturned(now: now, randomness: &randomness), now: now)
        }
        return false
    }

    var loopingServers: [Nameserver] { loopChecks.looping }

    /// Which servers lead back to us, and which do not any more.
    func takeLoopNews() -> [LogEvent] {
        defer { loopNews.removeAll(keepingCapacity: true) }
        return loopNews
    }

    func start(_ id: FetchID, _ question: Question, now: Instant) {
        requests += 1
        begin(question, of: servers, for: id, now: now)
    }

    func abandon(_ id: FetchID) {
        guard let number = jobOfFetch.removeValue(forKey: id), let job = jobs.removeValue(forKey: number) else {
            return
        }
        end(job)
    }

    var hasFinished: Bool { !finished.isEmpty }

    func takeFinished() -> [(id: FetchID, result: Result<Answer, FetchFailure>)] {
        defer { finished.removeAll(keepingCapacity: true) }
        return finished
    }

    func timePassed(now: Instant) {
        for number in jobs.keys.sorted() {
            guard let deadline = jobs[number]?.lookup.nextDeadline, deadline <= now else { continue }
            advance(number, .timePassed, now: now)
        }
        perform(loopChecks.timePassed(now: now, randomness: &randomness), now: now)
    }

    private func perform(_ actions: [LoopChecks.Action], now: Instant) {
        guard !actions.isEmpty else { return }
        servers = loopChecks.askable
        for action in actions {
            switch action {
            case .ask(let check): begin(check.question, of: [check.server], for: nil, now: now)
            case .leaveOut(let server): loopNews.append(.nameserverLoops(server.description))
            case .takeBack(let server): loopNews.append(.nameserverAskedAgain(server.description))
            }
        }
    }

    // MARK: jobs

    private func begin(_ question: Question, of servers: [Nameserver], for fetch: FetchID?, now: Instant) {
        let number = nextJob
        nextJob += 1
        let lookup = NameserverLookup(question, servers: servers, deadline: now + SystemFetches.lookupTimeout)
        jobs[number] = Job(lookup: lookup, fetch: fetch)
        if let fetch {
            jobOfFetch[fetch] = number
            awaited[question, default: 0] += 1
        }
        advance(number, .started, now: now)
    }

    /// Events that follow at once from carrying out an action, such as a send that fails, are fed in the same turn.
    private func advance(_ number: UInt64, _ event: NameserverLookup.Event, now: Instant) {
        var events = [event]
        while !events.isEmpty, jobs[number] != nil {
            var actions: [NameserverLookup.Action] = []
            jobs[number]?.lookup.handle(events.removeFirst(), now: now, randomness: &randomness, actions: &actions)
            for action in actions {
                if let failure = perform(action, number, now: now) { events.append(failure) }
            }
        }
    }

    private func perform(_ action: NameserverLookup.Action, _ number: UInt64, now: Instant) -> NameserverLookup.Event? {
        switch action {
        case .sendDatagram(let id, let server, let message):
            return open(id, number) { SystemExchange.datagram(to: server, message) }
        case .openStream(let id, let server, let message):
            return open(id, number) { SystemExchange.stream(to: server, message) }
        case .close(let id): jobs[number]?.exchanges.removeValue(forKey: id)?.close(loop)
        case .finished(let result): finish(number, result, now: now)
        }
        return nil
    }

    private func open(
        _ id: NameserverLookup.ExchangeID, _ number: UInt64, _ make: () -> SystemExchange?
    ) -> NameserverLookup.Event? {
        guard var exchange = make() else { return .failed(id, .unreachable) }
        let isWatched = exchange.watch(loop) { [unowned self] in self.ready(id, number) }
        guard isWatched else { return .failed(id, .overload) }
        jobs[number]?.exchanges[id] = exchange
        return nil
    }

    private func ready(_ id: NameserverLookup.ExchangeID, _ number: UInt64) {
        let now = Clock.now()
        // A bad datagram leaves the exchange open, so there may be more to take.
        while var exchange = jobs[number]?.exchanges[id] {
            let outcome = exchange.proceed(loop)
            jobs[number]?.exchanges[id] = exchange
            switch outcome {
            case .waiting: return
            case .message(let bytes): advance(number, .received(id, bytes), now: now)
            case .failed(let failure): advance(number, .failed(id, failure), now: now)
            }
        }
    }

    private func finish(_ number: UInt64, _ result: Result<Answer, FetchFailure>, now: Instant) {
        guard let job = jobs.removeValue(forKey: number) else { return }
        end(job)
        guard let fetch = job.fetch else {
            let isAnswered = result.isAnswered
            perform(loopChecks.checkFinished(job.lookup.question, isAnswered: isAnswered, now: now), now: now)
            return
        }
        jobOfFetch[fetch] = nil
        if case .failure = result { failures += 1 }
        finished.append((fetch, result))
    }

    private func end(_ job: Job) {
        foreignReplies += UInt64(job.lookup.foreignReplies)
        for exchange in job.exchanges.values { exchange.close(loop) }
        guard job.fetch != nil, let count = awaited[job.lookup.question] else { return }
        awaited[job.lookup.question] = count > 1 ? count - 1 : nil
    }
}

extension Result<Answer, FetchFailure> {
    /// Somebody has answered, though it may be with a refusal.
    fileprivate var isAnswered: Bool {
        switch self {
        case .success, .failure(.server), .failure(.garbage): true
        case .failure: false
        }
    }
}
