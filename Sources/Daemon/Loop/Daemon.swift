// Builds all components as pictured in ARCHITECTURE.md, runs the event loop, and shuts down. An error before "ready"
// aborts startup with its reason; afterwards only a stop signal ends the daemon.

import Control
import DNSWire
import HTTPClient
import HTTPServer
import LinuxIO
import Network
import Resolver
import Serving
import Settings
import Telemetry
import Upstreams

final class Daemon {
    /// Longest wait for pending answers at shutdown: enough for a working upstream.
    private static let lastAnswers: Duration = .milliseconds(500)
    /// Longest wait for the store at startup. Shorter than TimeoutStartSec of the unit.
    private static let rulesPatience: Duration = .seconds(3)
    /// Longest wait for the flushes of the fleet: Redis answers within a millisecond.
    private static let flushPatience: Duration = .milliseconds(100)
    /// Longest wait for the first reports of links: programs on the system bus answer within milliseconds.
    private static let firstLinks: Duration = .milliseconds(500)

    private let start: DaemonStart
    let reload: Reload
    private let signals: SignalWatch
    private let ports: PortBinding
    var listening: ListenAddressWatch
    let flight: FlightRecording
    let resolving: ResolvingLoop
    let evidence: EvidenceLog
    let notifier: Notifier
    let portalCheck: PortalCheck
    let threads: ServingThreads
    let upstreamsInForce: UpstreamsInForce
    let linksInForce: LinksInForce
    /// Follows the networks; nil: the settings disable this, and all networks share one part of the cache.
    let networkChanges: NetworkChangeHandler?
    let policy: PolicyInForce
    let operators: Operators
    private var stopSignal: String?
    let log: Log
    /// Messages to the service manager; nil: there is none.
    private let supervision: Supervision?
    private(set) var timetable = Timetable([])

    /// - Throws: `StartFailure` with a text for the operator.
    init(
        _ settings: Settings, _ secrets: LoadedSecrets, _ options: Options, _ listeners: BoundListeners,
        _ notice: ServiceNotice?, _ log: Log, rights: String
    ) throws(StartFailure) {
        start = DaemonStart(options: options, rights: rights)
        (self.log, ports, listening) = (log, listeners.ports, ListenAddressWatch(listeners.ports.addresses))
        do {
            SignalWatch.ignoreBrokenPipes()
            // Stop signals keep their default action during startup, which may hang.
            signals = try SignalWatch([StopSignal.reload])
            try HTTPClient.prepareProcess()
            let (loop, outbox) = (try EventLoop(), Outbox())
            let entropy = SystemEntropy()
            let cache = AnswerCache(limitBytes: settings.cache.sizeBytes, seed: (entropy.next(), entropy.next()))
            let files = try LocalFiles(resolvConf: settings.systemResolver.resolvConf, loop: loop, outbox: outbox)
            let lists = try NameLists(loop: loop, outbox: outbox)
            reload = Reload(settings, secrets, options, ports, lists, atWall: start.atWall)
            let nameservers = UpstreamsInForce.nameservers(settings.systemResolver, files, ports.addresses)
            let network = try NetworkMonitor.begin(
                settings.network, loop, nameservers.searchDomains, seed: entropy.next())
            let serving = ServingState(Partition(network?.id, settings.providers), seed: entropy.next())
            let store = try StoreThread.begin(settings, cache: cache, loop: loop, outbox: outbox)
            let (access, gate) = (AccessList(settings.server.allow), ClientRateLimit(settings.server, ports, entropy))
            let makeFastPath = { @Sendable in
                FastPath(cache: cache, access: access, serving: serving, gate: gate, version: programVersion)
            }
            let records = FlightRecords(servingThreads: listeners.threads)
            flight = try FlightRecording(records, settings.log, loop: loop, outbox: outbox)
            let mailbox = try Mailbox<Notice>(capacity: ResolvingLoop.mailboxCapacity)
            let streams = try StreamServer(
                listeners: ports.listeners, loop: loop, access: access, fastPath: makeFastPath(),
                ring: records.ofMainThread, maxConnections: DescriptorBudget.current.clientConnections)
            resolving = try ResolvingLoop(
                loop: loop, outbox: outbox,
                upstreams: Upstreams(
                    loop: loop, outbox: outbox, seed: entropy.next(),
                    maxExchanges: DescriptorBudget.current.nameserverExchanges, hasStore: store != nil),
                probes: Probes(loop: loop), streams: streams,
                mailbox: mailbox, store: store, answers: CachedAnswers(cache, serving),
                seed: entropy.next(), fastPath: makeFastPath(), recorder: flight.recorder)
            let links = LinkMonitor(loop: loop, outbox: outbox)
            policy = PolicyInForce(
                resolving.upstreams, outbox, store, cache, resolving.addressSets, lists, links)
            upstreamsInForce = UpstreamsInForce(
                resolving.upstreams, resolving.probes, outbox, serving, files, ports)
            networkChanges = network.map { [resolving, upstreamsInForce] network in
                NetworkChangeHandler(network, cache, resolving, upstreamsInForce, settings)
            }
            linksInForce = LinksInForce(links, policy, upstreamsInForce, network, ports, outbox)
            operators = Operators(resolving, cache)
            evidence = EvidenceLog(resolving.upstreams, store)
            notifier = Notifier(loop, resolving.upstreams, outbox)
            portalCheck = PortalCheck(resolving.upstreams, outbox) { [networkChanges] in
                networkChanges?.network.identity
            }
            threads = ServingThreads(ports.datagrams, records: records, mailbox: mailbox, makeFastPath: makeFastPath)
            supervision = notice.map { [threads] notice in Supervision(notice, threads, now: Clock.now()) }
        } catch {
            throw StartFailure(error)
        }
        try openForOperators(listeners)
    }

    var outbox: Outbox { resolving.outbox }

    /// Serves until a signal ends it.
    func run() throws(SystemError) {
        _ = try resolving.loop.watch(signals.descriptor, for: .readable) { [unowned self] _ in takeSignals() }
        apply(reload.settings)
        // Reads the routes before the first query.
        networkChanges?.follow(lateBy: .zero, now: Clock.now())
        dispatch(now: Clock.now())
        try awaitLinks()
        dispatch(now: Clock.now())
        for failure in ports.leftOut { log(.addressLeftOut(failure.description)) }
        listening.news(routeChanges: networkChanges?.network.routeChanges ?? 0).forEach { log($0) }
        try awaitAddedRules()
        try awaitFlushes()
        dispatch(now: Clock.now())
        // From here on queries are received, and a stop answers them first.
        try signals.add(StopSignal.all)
        try threads.start()
        log(
            .ready(
                listen: ports.places, threads: threads.count,
                providers: settings.askedProviders.map(\.name),
                systemServers: resolving.upstreams.system.servers.map(\.description)))
        if let networkChanges, !networkChanges.network.hasWayOut { log(.networkLost) }
        if OpenResolverCheck.isOpenResolver(listen: ports.addresses, allow: reload.settingsOfStart.server.allow) {
            log(.openResolver)
        }
        operators.announce(settings.control, outbox)
        dispatch(now: Clock.now())
        timetable = Timetable(timedParts)
        assert(hasAllParts, "a part with a deadline is not in the timetable")
        var turnedAt = Clock.now()
        supervision?.ready(ports.places, resolving.upstreams.providers.providers, now: turnedAt)
        while stopSignal == nil {
            // A deadline that has passed already must not count as lateness, which indicates suspension.
            let deadline = timetable.nextDeadline.map { max($0, turnedAt) }
            try resolving.loop.turn(until: deadline)
            let now = Clock.now()
            turn(lateBy: deadline.map { max(.zero, $0.duration(to: now)) } ?? .zero, now: now)
            turnedAt = now
        }
        log.queries(flight.watches.drain())
        log.end(now: Clock.now())
        log(.stopping(signal: stopSignal ?? ""))
        supervision?.stopping()
        threads.stop()
        try answerTheRest()
        timetable = Timetable([])
        operators.close()
        resolving.upstreams.providers.stop(now: Clock.now())
        dispatch(now: Clock.now())
        resolving.upstreams.billing.save()
        dispatch(now: Clock.now())
        resolving.store?.stop()
        log(.stopped)
    }

    /// The parts that have deadlines. What happens in `resolving` is watched and logged in the same turn.
    private var timedParts: [any TimedPart] {
        let others: [(any TimedPart)?] = [networkChanges, supervision]
        return resolving.timedParts + policy.timedParts
            + [upstreamsInForce.nat64, notifier, portalCheck, linksInForce.monitor, flight.watches, log]
            + others.compactMap { $0 } + operators.timedParts
    }

    /// Whether each part with a deadline is among `timedParts`. For debug builds: finds the parts by reflection.
    private var hasAllParts: Bool {
        let owners: [Any] = [
            self, resolving, resolving.upstreams, policy, upstreamsInForce, linksInForce, flight, operators,
            operators.pending,
        ]
        let owned = owners.flatMap { owner in
            Mirror(reflecting: owner).children.compactMap { $0.value as? any TimedPart }
        }
        return owned.allSatisfy { part in timedParts.contains { $0 === part } }
    }

    /// The rules that the operator added are in the store. Without them, names would go elsewhere.
    private func awaitAddedRules() throws(SystemError) {
        let end = Clock.now() + Daemon.rulesPatience
        while !policy.rules.isReady, Clock.now() < end {
            try resolving.loop.turn(until: end)
            dispatch(now: Clock.now())
        }
        if !policy.rules.isReady { outbox.log(.rule(.late)) }
    }

    /// What the fleet has flushed meanwhile must not be answered from the store. Without Redis, the start does not wait
    /// for longer than this.
    private func awaitFlushes() throws(SystemError) {
        let fleet = resolving.upstreams.fleet
        guard resolving.store != nil else { return fleet.restore([:], now: Clock.now()) }
        guard fleet.isOn else { return }
        let end = Clock.now() + Daemon.flushPatience
        while !fleet.knowsFlushes, Clock.now() < end {
            try resolving.loop.turn(until: min(end, fleet.nextDeadline ?? end))
            fleet.timePassed(now: Clock.now())
        }
        fleet.reportOutcomes()
    }

    /// Answers the queries received so far. Later ones wait for the next process if the service manager holds the
    /// sockets.
    private func answerTheRest() throws(SystemError) {
        let end = Clock.now() + Daemon.lastAnswers
        while resolving.questionsOpen(with: threads.tally) > 0, Clock.now() < end {
            try resolving.loop.turn(until: min(end, timetable.nextDeadline ?? end))
            turn(lateBy: .zero, now: Clock.now())
        }
    }

    private func takeSignals() {
        for signal in (try? signals.takeSignals()) ?? [] {
            if signal == StopSignal.reload { reloadSettings { _ in } } else { stopSignal = StopSignal.name(signal) }
        }
    }

    // MARK: settings

    private var settings: Settings { reload.settings }

    /// The old settings stay in force when the new ones have a fault.
    ///
    /// - Parameter tell: called once with the result, after the lists of rules were read.
    private func reloadSettings(_ tell: @escaping Reload.Tell) {
        supervision?.reloading()
        if let fault = reload.begin(tell) { endReload(.failure(fault)) }
    }

    func takeLists(now: Instant) {
        guard let (batch, hasOtherLists) = policy.lists.takeBatch(requested: reload.batch) else { return }
        let formerHosts = policy.hosts
        let result = reload.take(batch, now: Clock.wallMilliseconds()) {
            policy.forgetEndedLinks()
            apply(reload.settings)
        }
        if let result { endReload(result) }
        // Lists that a refused reload read are in force, too.
        if (try? result?.get()) == nil {
            if hasOtherLists { policy.renew(now: now) }
            policy.localNamesChanged(batch.local)
        }
        // In force before names are removed.
        dispatch(now: now)
        // A walk through the cache takes the main thread too long.
        let (hosts, cache) = (policy.hosts, resolving.answers.cache)
        let removal = { @Sendable in PolicyInForce.removeNames(of: hosts, from: cache) }
        policy.lists.finish(batch, hosts == formerHosts ? nil : removal)
    }

    private func endReload(_ result: Reload.Result) {
        // The log has the result before the operator has it, and what the settings brought about before that.
        dispatch(now: Clock.now())
        switch result {
        case .success(let report):
            log(.settingsReloaded(report))
            flight.recorder.settingsReloaded(now: Clock.now())
        case .failure(let fault): log(.settingsRefused(complaints: fault.complaints))
        }
        supervision?.reloaded(ports.places, resolving.upstreams.providers.providers, now: Clock.now())
        reload.end(result)
    }

    private func apply(_ settings: Settings) {
        let (now, secrets) = (Clock.now(), reload.secrets)
        log.configure(settings.log)
        flight.configure(settings.log)
        upstreamsInForce.setAccounts(secrets.accounts, secrets.nameservers)
        notifier.configure(secrets.receivers, now: now)
        if let networkChanges {
            networkChanges.configure(settings, now: now)
        } else {
            resolving.answers.serving.set(Partition(nil, settings.providers), settings)
        }
        let names = reload.takeNames()
        policy.lists.set(names, zones: LocalZones(settings.localZones), copies: LastGoodFiles(settings))
        upstreamsInForce.nat64.configure(settings.server)
        resolving.upstreams.lists.isPaused = settings.avoidsProviders
        upstreamsInForce.files.watch(resolvConf: settings.systemResolver.resolvConf)
        policy.announceHosts()
        readNameservers(now: now)
        resolving.probes.configure(secrets.probes)
        if let problem = secrets.probes.problem { outbox.log(.probesOff(problem)) }
        policy.rules.settingsChanged(to: settings, now: now)
        policy.set(settings, secrets.fleet, now: now)
        policy.announceLeases(of: names.local)
        if settings.avoidsProviders { outbox.log(.providersAvoided(variable: Machine.proxyVariable ?? "")) }
        resolving.upstreams.billing.providersChanged(now: now)
        if !settings.prefetch.names.isEmpty { outbox.put(.event(.prefetch(settings.prefetch.names))) }
    }

    func readNameservers(now: Instant) {
        upstreamsInForce.readNameservers(settings.systemResolver, areOthers: false, now: now)
        upstreamsInForce.announce(now: now)
        networkChanges?.found(searchDomains: upstreamsInForce.nameservers.searchDomains, now: now)
    }

    // MARK: links

    /// Waits for the first reports, so that no name of a link goes elsewhere after a restart.
    private func awaitLinks() throws(SystemError) {
        let end = Clock.now() + Daemon.firstLinks
        while linksInForce.monitor.isWaiting, Clock.now() < end {
            try resolving.loop.turn(until: min(end, linksInForce.monitor.nextDeadline ?? end))
            linksInForce.monitor.timePassed(now: Clock.now())
        }
        linksInForce.read(now: Clock.now())
    }

    // MARK: store

    func takeStoreEvents(now: Instant) {
        guard let store = resolving.store else { return }
        for event in store.takeEvents() {
            if let news = LogEvent(event, path: store.path) { outbox.log(news) }
            switch event {
            case .notes(let notes): takeNotes(notes, now: now)
            case .loaded(let report): takeEntries(report, now: now)
            case .failed:
                policy.rules.storeFailed()
                beginWithoutStore(now: now)
            case .setAside, .recovered: break
            }
        }
    }

    private func takeEntries(_ report: LoadReport, now: Instant) {
        let keptNames = policy.storeLoaded(now: now)
        let here = report.inUse.filter { $0.partition == resolving.answers.serving.partition(for: .all) }
        let kept = keptNames.flatMap { [Question($0, .a), Question($0, .aaaa)] }
            .compactMap { resolving.answers.entries(of: $0).first }
        let restored = kept.map { RestoredAnswer($0, now: now) } + here.map { RestoredAnswer($0, now: now) }
        outbox.put(.event(.restored(restored)))
    }

    /// The components that wait for the store begin. Those that would replace its notes continue to wait: the file may
    /// be read later.
    private func beginWithoutStore(now: Instant) {
        if resolving.upstreams.lists.notes == nil { resolving.upstreams.lists.begin([:], now: now) }
        resolving.upstreams.fleet.restore([:], now: now)
        policy.beginKeeping()
    }

    private func takeNotes(_ notes: [String: String], now: Instant) {
        policy.switches.restore(notes, now: now)
        for name in policy.rules.restore(notes, settings, now: now) {
            outbox.put(.remove(QuestionScope(name, includesDescendants: true)))
        }
        policy.restore(notes)
        resolving.upstreams.lists.begin(notes, now: now)
        resolving.upstreams.fleet.restore(notes, now: now)
        resolving.upstreams.billing.restore(notes, now: now)
        evidence.restore(notes, now: now)
        networkChanges?.restore(notes, now: now)
        for report in policy.switches.reports { outbox.log(.stillSwitchedOff(report)) }
    }

    // MARK: control

    private func openForOperators(_ listeners: BoundListeners) throws(StartFailure) {
        if let path = settings.control.socket {
            try operators.openControlSocket(at: path, resolving.loop) { [unowned self] in answer($0, from: $1) }
        }
        policy.rules.onChange = { [unowned policy] in policy.renew(now: $0) }
        guard let listener = listeners.pages else { return }
        try operators.openPages(listener, resolving.loop) { [unowned self] now in statistics(now: now) }
    }

    private func statistics(now: Instant) -> Statistics {
        Statistics(
            resolving: resolving, threads: threads, cache: resolving.answers.cache,
            pendingProbes: operators.pending.probes,
            evidence: evidence, notifier: notifier,
            network: networkChanges?.network, translationPrefix: upstreamsInForce.nat64.prefixes.first,
            nameserverSource: upstreamsInForce.nameservers.path, start: start,
            settingsSeconds: reload.settingsAtWall / 1000, now: now,
            ports: ports, operatorSwitches: policy.switches.reports,
            avoidingFor: settings.avoidsProviders ? Machine.proxyVariable : nil, pages: operators.pages,
            lists: policy.lists, droppedLogLines: log.droppedLines)
    }

    /// What a command changes is in force before its reply.
    private func answer(_ line: [UInt8], from peer: LocalPeer) -> ControlAnswer {
        let now = Clock.now()
        dispatch(now: now)
        defer { dispatch(now: now) }
        return ControlCommands(
            statistics: statistics(now: now), resolving: resolving, switches: policy.switches, rules: policy.rules,
            settings: settings, pending: operators.pending, evidence: evidence, watches: flight.watches,
            cache: resolving.answers.cache, log: log,
            topTexts: operators.topTexts,
            reload: { [unowned self] in reloadSettings($0) }, now: now
        ).answer(to: line, from: peer)
    }
}
