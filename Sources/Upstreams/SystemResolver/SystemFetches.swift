// Carries out nameserver lookups: opens sockets, sends messages, and reports replies. The lookups are values in the
// Resolver module and make all decisions.

package import DNSWire
package import LinuxIO
package import Network
package import Resolver

// getaddrinfo(3) would block, and might query this daemon.
package final class SystemFetches: TimedPart {
    package let timer = PartTimer()

    /// Nameservers of resolv.conf or the settings, in the order of use, without those that lead back to the daemon.
    package private(set) var servers: [Nameserver] = []
    private var options = NameserverOptions()
    private var standings = NameserverStandings()
    package private(set) var counts = Counts()
    private var openExchanges = 0
    private let maxExchanges: Int

    private var reachability = Reachability()
    private let loop: EventLoop
    private let outbox: any UpstreamOutbox
    private var randomness = SystemEntropy()
    private var jobs: [UInt64: Job] = [:]
    private var jobOfFetch: [FetchID: UInt64] = [:]
    private var places = JobPlaces()
    private var deadlines = DeadlineQueue() { didSet { timer.changed() } }
    /// Waiting fetches per question, without DO and CD: a server that forwards to the daemon may set them.
    private var awaited: [Question: Int] = [:]
    private var loopChecks = LoopChecks() { didSet { timer.changed() } }
    /// Connections of servers with DNS over TLS.
    private(set) lazy var secure = SecureStreams(loop, timer) { [unowned self] in advance($0, $1, now: Clock.now()) }
    private var finished: [(id: FetchID, result: FetchResult)] = []
    private var finishedOwn: [(number: UInt64, finish: Finish, result: FetchResult)] = []

    /// Messages per socket and turn, before the others are served.
    private static let maxMessagesPerTurn = 64

    package typealias Finish = (FetchResult) -> Void

    package struct Counts {
        package fileprivate(set) var requests: UInt64 = 0
        package fileprivate(set) var failures: UInt64 = 0
        /// Messages that were not sent because too many sockets to nameservers were open.
        package fileprivate(set) var refusedExchanges: UInt64 = 0
        /// Foreign replies of lookups that have ended.
        package fileprivate(set) var foreignReplies: UInt64 = 0
    }

    /// The numbers of jobs. The queue of deadlines takes small numbers: places, which are used again after the end of
    /// their job.
    private struct JobPlaces {
        private var next: UInt64 = 0
        private var jobOfPlace: [UInt64] = []
        private var free: [Int] = []

        subscript(place: Int) -> UInt64 { jobOfPlace[place] }

        mutating func begin() -> (number: UInt64, place: Int) {
            let number = next
            next += 1
            let place = free.popLast() ?? jobOfPlace.count
            if place == jobOfPlace.count { jobOfPlace.append(number) }
            jobOfPlace[place] = number
            return (number, place)
        }

        mutating func end(_ place: Int) { free.append(place) }
    }

    /// Origin of a lookup.
    private enum Purpose {
        case fetch(FetchID)
        case own(Finish)
        /// A check whether the server forwards to this daemon; the answer does not matter.
        case loopCheck
        /// A test whether the server replies; the answer does not matter.
        case test

        var isOfClients: Bool {
            switch self {
            case .fetch, .own: true
            case .loopCheck, .test: false
            }
        }
    }

    /// A question that belongs to no fetch.
    package struct OwnRequest {
        fileprivate let number: UInt64
    }

    private struct Job {
        let place: Int
        var lookup: NameserverLookup
        let purpose: Purpose
        var exchanges: [NameserverLookup.ExchangeID: SystemExchange] = [:]
    }

    /// - Parameter maxExchanges: limit of open sockets to nameservers.
    init(loop: EventLoop, outbox: any UpstreamOutbox, maxExchanges: Int) {
        (self.loop, self.outbox) = (loop, outbox)
        self.maxExchanges = maxExchanges
    }

    package var nextDeadline: Instant? {
        Instant.earliest(Instant.earliest(deadlines.earliest, loopChecks.nextDeadline), secure.nextDeadline)
    }

    /// Sets the servers. Each also gets a check question, which comes back to the daemon if the server forwards to
    /// it.
    ///
    /// - Parameter options: how to ask these servers.
    package func setServers(_ servers: [Nameserver], _ options: NameserverOptions, now: Instant) {
        self.options = options
        let actions = loopChecks.setServers(servers, now: now, randomness: &randomness)
        self.servers = loopChecks.askable
        perform(actions, now: now)
    }

    /// Skips servers without a route from now on.
    package func setReach(_ reach: NetworkReach) { reachability = Reachability(reach: reach) }

    /// - Returns: true for a check question of the daemon, which a client can only know from one of its servers. It
    ///   gets no answer then.
    package func clientAsked(_ question: Question, now: Instant) -> Bool {
        guard !awaited.isEmpty || LoopChecks.mayHaveToken(question.name) else { return false }
        let question = question.withoutDNSSEC
        // Read first: a mutating call changes the timer.
        if loopChecks.isToken(question, now: now),
            let actions = loopChecks.clientAsked(question, now: now, randomness: &randomness)
        {
            perform(actions, now: now)
            return true
        }
        if awaited[question] != nil {
            perform(loopChecks.questionReturned(now: now, randomness: &randomness), now: now)
        }
        return false
    }

    package var loopingServers: [Nameserver] { loopChecks.looping }

    /// Forgets which servers reply, and closes connections: the way to them is another one.
    func renew() {
        standings.reset()
        secure.renew()
    }

    func start(_ id: FetchID, _ question: Question, now: Instant) {
        counts.requests += 1
        _ = begin(question, of: reachableServers, options, for: .fetch(id), now: now)
    }

    /// Resolves a question. `reportResults` calls `finish`, unless the lookup is cancelled.
    ///
    /// - Parameter servers: nil for the system's servers.
    package func ask(
        _ question: Question, of servers: [Nameserver]? = nil, trustsAuthenticData: Bool = false, now: Instant,
        _ finish: @escaping Finish
    ) -> OwnRequest {
        let options = servers == nil ? self.options : NameserverOptions()
        let servers = servers.map(reachable) ?? reachableServers
        return OwnRequest(
            number: begin(
                question, of: servers, options, for: .own(finish), trustsAuthenticData: trustsAuthenticData, now: now))
    }

    package func cancel(_ request: OwnRequest) {
        finishedOwn.removeAll { $0.number == request.number }
        secure.leave(request.number)
        if let job = jobs.removeValue(forKey: request.number) { end(job) }
    }

    func abandon(_ id: FetchID) {
        guard let number = jobOfFetch.removeValue(forKey: id), let job = jobs.removeValue(forKey: number) else {
            return
        }
        end(job)
    }

    var hasFinished: Bool { !finished.isEmpty || !finishedOwn.isEmpty }

    func reportResults() {
        guard hasFinished else { return }
        let (fetches, own) = (finished, finishedOwn)
        finished = []
        finishedOwn = []
        for request in own { request.finish(request.result) }
        for fetch in fetches { outbox.report(.event(.fetchFinished(fetch.id, fetch.result))) }
    }

    package func timePassed(now: Instant) {
        while let place = deadlines.popDue(now) { advance(places[place], .timePassed, now: now) }
        perform(loopChecks.timePassed(now: now, randomness: &randomness), now: now)
        secure.timePassed(now: now)
    }

    private func perform(_ actions: [LoopChecks.Action], now: Instant) {
        guard !actions.isEmpty else { return }
        servers = loopChecks.askable
        for action in actions {
            switch action {
            case .ask(let check): _ = begin(check.question, of: [check.server], for: .loopCheck, now: now)
            case .leaveOut(let server): outbox.report(.loops(server))
            case .takeBack(let server): outbox.report(.askedAgain(server))
            }
        }
    }

    // MARK: jobs

    package var hasReachableServer: Bool { !reachableServers.isEmpty }

    private var reachableServers: [Nameserver] { reachable(servers) }

    func reachable(_ servers: [Nameserver]) -> [Nameserver] { servers.filter { reachability.leads(to: $0) } }

    private func begin(
        _ question: Question, of servers: [Nameserver], _ options: NameserverOptions = NameserverOptions(),
        for purpose: Purpose, trustsAuthenticData: Bool = false, now: Instant
    ) -> UInt64 {
        if purpose.isOfClients {
            for server in standings.takeDueTests(of: servers, now: now) {
                _ = begin(question, of: [server], options, for: .test, now: now)
            }
        }
        let (number, place) = places.begin()
        let isTest = if case .test = purpose { true } else { false }
        let lookup = NameserverLookup(
            question, servers: standings.order(servers, options), options, isTest: isTest,
            deadline: now + Bounds.nameserverTimeout, trustsAuthenticData: trustsAuthenticData)
        jobs[number] = Job(place: place, lookup: lookup, purpose: purpose)
        if case .fetch(let id) = purpose {
            jobOfFetch[id] = number
            awaited[question.withoutDNSSEC, default: 0] += 1
        }
        advance(number, .started, now: now)
        return number
    }

    /// Handles an event and those that follow at once from its actions, such as a failed send, in the same turn.
    private func advance(_ number: UInt64, _ event: NameserverLookup.Event, now: Instant) {
        var events = [event]
        while !events.isEmpty, jobs[number] != nil {
            var actions: [NameserverLookup.Action] = []
            jobs[number]?.lookup.handle(
                events.removeFirst(), now: now, &standings, randomness: &randomness, actions: &actions)
            for action in actions {
                if let failure = perform(action, number, now: now) { events.append(failure) }
            }
        }
        for news in standings.takeNews() { outbox.report(.standing(news)) }
        guard let place = jobs[number]?.place else { return }
        if let deadline = jobs[number]?.lookup.nextDeadline {
            deadlines.set(deadline, for: place)
        } else {
            deadlines.remove(place)
        }
    }

    private func perform(_ action: NameserverLookup.Action, _ number: UInt64, now: Instant) -> NameserverLookup.Event? {
        switch action {
        case .sendDatagram(let id, let server, let message):
            return open(id, number) { SystemExchange.datagram(to: server, message) }
        case .openStream(let id, let server, let message) where server.tls != nil:
            let query = SecureStream.Query(lookup: number, exchange: id, message: message)
            return secure.send(query, to: server).map { .failed(id, $0) }
        case .openStream(let id, let server, let message):
            return open(id, number) { SystemExchange.stream(to: server, message) }
        case .close(let id):
            secure.leave(number, id)
            guard let exchange = jobs[number]?.exchanges.removeValue(forKey: id) else { return nil }
            exchange.close(loop)
            openExchanges -= 1
        case .finished(let result): finish(number, result, now: now)
        }
        return nil
    }

    private func open(
        _ id: NameserverLookup.ExchangeID, _ number: UInt64, _ make: () -> SystemExchange?
    ) -> NameserverLookup.Event? {
        guard openExchanges < maxExchanges else {
            counts.refusedExchanges += 1
            return .failed(id, .overload)
        }
        guard var exchange = make() else { return .failed(id, .unreachable) }
        let isWatched = exchange.watch(loop) { [unowned self] in self.ready(id, number) }
        guard isWatched else { return .failed(id, .overload) }
        jobs[number]?.exchanges[id] = exchange
        openExchanges += 1
        return nil
    }

    private func ready(_ id: NameserverLookup.ExchangeID, _ number: UInt64) {
        let now = Clock.now()
        // A bad datagram leaves the exchange open, so more may be waiting; the rest of a flood waits for the next
        // turn.
        for _ in 0..<SystemFetches.maxMessagesPerTurn {
            guard var exchange = jobs[number]?.exchanges[id] else { return }
            let outcome = exchange.proceed(loop)
            jobs[number]?.exchanges[id] = exchange
            switch outcome {
            case .waiting: return
            case .message(let bytes): advance(number, .received(id, bytes), now: now)
            case .failed(let failure): advance(number, .failed(id, failure), now: now)
            }
        }
    }

    private func finish(_ number: UInt64, _ result: FetchResult, now: Instant) {
        guard let job = jobs.removeValue(forKey: number) else { return }
        end(job)
        switch job.purpose {
        case .fetch(let fetch):
            jobOfFetch[fetch] = nil
            switch result {
            case .success: break
            case .nameFailed, .notServed, .omitted, .failure: counts.failures += 1
            }
            finished.append((fetch, result))
        case .own(let finish): finishedOwn.append((number, finish, result))
        case .loopCheck:
            let isAnswered = result.isAnswered
            perform(loopChecks.checkFinished(job.lookup.question, isAnswered: isAnswered, now: now), now: now)
        case .test: break
        }
    }

    private func end(_ job: Job) {
        deadlines.remove(job.place)
        places.end(job.place)
        counts.foreignReplies += UInt64(job.lookup.foreignReplies)
        for exchange in job.exchanges.values { exchange.close(loop) }
        openExchanges -= job.exchanges.count
        let question = job.lookup.question.withoutDNSSEC
        guard case .fetch = job.purpose, let count = awaited[question] else { return }
        awaited[question] = count > 1 ? count - 1 : nil
    }
}

extension FetchResult {
    /// A server has answered, possibly with an error.
    fileprivate var isAnswered: Bool {
        switch self {
        case .success, .nameFailed, .notServed, .omitted, .failure(.server), .failure(.garbage): true
        case .failure: false
        }
    }
}
