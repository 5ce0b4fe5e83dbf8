// The slow path's body: gathers what happened, tells the resolver, carries out what it wants. Everything that is not a
// cache hit on a datagram runs here, on the main thread, one event at a time.

import AnswerCache
import DNSWire
import LinuxIO
import Resolver

final class ResolvingLoop {
    /// Questions that wait for this thread: a burst of misses from every serving thread.
    static let mailboxCapacity = 4096

    let loop: EventLoop
    let providers: ProviderFetches
    let system: SystemFetches
    let streams: StreamServer
    let mailbox: Mailbox<Handover>
    private let cache: AnswerCache
    private let partition: Partition
    private var fastPath: FastPath
    private var resolver = Resolver()
    private var clients = Clients()
    private(set) var tally = Tally()
    /// Of those that were handed over; the rest is in the mailbox or among the streams' misses.
    private(set) var questionsTaken: UInt64 = 0
    private(set) var latencies = SourceLatencies()
    private var loopProbes: LoopProbes?
    /// A server that turned out to lead back to us, for the log; taken once.
    private var loopingServers: [Nameserver] = []
    /// Already past when it is asked for: the next turn does not wait.
    private var settledAt: Instant
    private var lastRendered: (question: Question, answer: Answer, rendered: RenderedAnswer)?

    init(
        loop: EventLoop, providers: ProviderFetches, system: SystemFetches, streams: StreamServer,
        mailbox: Mailbox<Handover>, cache: AnswerCache, partition: Partition, fastPath: consuming FastPath
    ) throws(SystemError) {
        self.loop = loop
        self.providers = providers
        self.system = system
        self.streams = streams
        self.mailbox = mailbox
        self.cache = cache
        self.partition = partition
        settledAt = Clock.now()
        self.fastPath = fastPath
        _ = try loop.watch(mailbox.descriptor, for: .readable) { [unowned self] _ in takeHandovers() }
    }

    /// Clients that wait, those still in the mailbox left out.
    var clientsWaiting: Int { clients.count }

    /// When `timePassed` and `settle` are due.
    var nextDeadline: Instant? {
        if streams.hasMisses { return settledAt }
        return [resolver.nextDeadline, providers.nextDeadline, system.nextDeadline, streams.nextDeadline].compactMap {
            $0
        }
        .min()
    }

    func timePassed(now: Instant) {
        providers.timePassed(now: now)
        system.timePassed(now: now)
        streams.timePassed(now: now)
        if let deadline = resolver.nextDeadline, deadline <= now { handle(.timePassed, now: now) }
    }

    /// Takes what finished since the last turn of the loop, and everything that follows from it. Questions that streams
    /// bring meanwhile wait for the next turn: a client that asks as fast as it is answered must not keep us here.
    func settle(now: Instant) {
        settledAt = now
        for miss in streams.takeMisses() {
            let client = Client(query: miss.query, packet: miss.packet, path: .stream(miss.connection), askedAt: now)
            asked(client, now: now)
        }
        repeat {
            for (id, result) in providers.takeFinished() + system.takeFinished() {
                handle(.fetchFinished(id, result), now: now)
            }
        } while providers.hasFinished || system.hasFinished
    }

    /// Changes that come from outside: settings, hosts, network.
    func handle(_ event: Event, now: Instant) {
        var actions: [Action] = []
        resolver.handle(event, now: now, actions: &actions)
        for action in actions { perform(action, now: now) }
    }

    func setNameservers(_ servers: [Nameserver], now: Instant) {
        var randomness = SystemEntropy()
        let probes = LoopProbes(servers, now: now, randomness: &randomness)
        loopProbes = probes
        system.setServers(servers, probing: probes, now: now)
    }

    func takeLoopingServers() -> [Nameserver] {
        defer { loopingServers = [] }
        return loopingServers
    }

    // MARK: questions

    private func takeHandovers() {
        let now = Clock.now()
        for handover in mailbox.takeAll() {
            let client = Client(handover)
            if !answeredMeanwhile(client, handover.peer, now: now) { asked(client, now: now) }
        }
    }

    /// The answer may have come while the question was on its way here; then another fetch would be one too many.
    private func answeredMeanwhile(_ client: Client, _ peer: SocketAddress, now: Instant) -> Bool {
        var outcome = FastPath.Outcome.miss(client.query)
        let message = client.message { output in
            outcome = fastPath.respond(
                to: client.packet.span, from: Address(peer), nowMilliseconds: Clock.millisecondsSinceBoot(now),
                into: &output)
        }
        guard case .answered(let code) = outcome else { return false }
        questionsTaken += 1
        answer(client, with: message, code, as: .cacheResponses, now: now)
        return true
    }

    private func asked(_ client: Client, now: Instant) {
        questionsTaken += 1
        let question = client.question
        if let server = loopProbes?.loopingServer(asking: question, now: now) {
            system.leaveOut(server)
            loopingServers.append(server)
            drop(client, now: now)
            tally[.droppedLoop] += 1
            return
        }
        guard let waiter = clients.add(client) else {
            fail(client, .notReady, now: now)
            return
        }
        handle(.asked(question, waiter), now: now)
    }

    // MARK: actions

    /// Decisions become effects here and nowhere else.
    private func perform(_ action: Action, now: Instant) {
        switch action {
        case .fetch(let id, let question, .provider(let provider)): providers.start(id, question, provider, now: now)
        case .fetch(let id, let question, .system): system.start(id, question, now: now)
        case .abandon(let id):
            providers.abandon(id, now: now)
            system.abandon(id)
        case .store(let question, let answer, let source): store(question, answer, source, now: now)
        case .reply(let waiter, let answer, let source): reply(waiter, answer, source, now: now)
        case .fail(let waiter, let extendedError):
            if let client = clients.take(waiter) { fail(client, extendedError, now: now) }
        }
    }

    private func store(_ question: Question, _ answer: Answer, _ source: Source, now: Instant) {
        let provenance: Provenance
        switch source {
        case .provider: provenance = .provider
        case .system: provenance = .system
        case .local: return
        }
        cache.store(
            rendered(answer, question), lifetimeSeconds: answer.ttlSeconds, for: question, partition: partition,
            provenance: provenance, nowMilliseconds: Clock.millisecondsSinceBoot(now))
    }

    private func reply(_ waiter: Waiter, _ answer: Answer, _ source: Source, now: Instant) {
        guard let client = clients.take(waiter) else { return }
        let message = client.message { output in
            Reply.write(
                Reply.Body(rendered(answer, client.question)), to: client.query, in: client.packet.span, ageSeconds: 0,
                limit: client.limitBytes, into: &output)
        }
        let isSent = self.answer(client, with: message, answer.responseCode, as: source.count, now: now)
        if isSent { latencies.record(client.askedAt.duration(to: now), from: source) }
    }

    private func fail(_ client: Client, _ extendedError: ExtendedError, now: Instant) {
        answer(client, with: client.failure(extendedError), .serverFailure, as: .failureResponses, now: now)
    }

    /// Every reply of this thread leaves here, and is counted once. False when the client has gone.
    @discardableResult
    private func answer(
        _ client: Client, with message: [UInt8], _ code: ResponseCode, as count: Count, now: Instant
    ) -> Bool {
        guard send(message, to: client, now: now) else {
            tally[.droppedGone] += 1
            return false
        }
        tally.count(code)
        tally[count] += 1
        return true
    }

    /// No answer: a stream must still learn that the question is not in flight any more.
    private func drop(_ client: Client, now: Instant) {
        if case .stream(let connection) = client.path { _ = streams.send([], to: connection, now: now) }
    }

    private func send(_ message: [UInt8], to client: Client, now: Instant) -> Bool {
        switch client.path {
        case .datagram(let socket, let peer, let askedAddress):
            return socket.reply(message.span, to: peer, from: askedAddress)
        case .stream(let connection): return streams.send(message, to: connection, now: now)
        }
    }

    /// A burst of clients with one question shares one rendering.
    private func rendered(_ answer: Answer, _ question: Question) -> RenderedAnswer {
        if let last = lastRendered, last.question == question, last.answer == answer { return last.rendered }
        let rendered = RenderedAnswer(answer, to: question)
        lastRendered = (question, answer, rendered)
        return rendered
    }
}

extension Source {
    fileprivate var count: Count {
        switch self {
        case .provider: .providerResponses
        case .system: .systemResponses
        case .local: .localResponses
        }
    }
}
