// Builds all components as pictured in ARCHITECTURE.md, and opens the daemon for operators.

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
    private let start: DaemonStart
    let reload: Reload
    let signals: SignalWatch
    let ports: PortBinding
    /// Connections of the former process; empty once they are served.
    var adopted: [(peer: SocketAddress, socket: StreamSocket)]
    var listening: ListenAddressWatch
    let flight: FlightRecording
    let resolving: ResolvingLoop
    let evidence: EvidenceLog
    let auditNotes: AuditNotes
    let notifier: Notifier
    let portalCheck: PortalCheck
    let threads: ServingThreads
    let upstreamsInForce: UpstreamsInForce
    let linksInForce: LinksInForce
    /// Follows the networks; nil: the settings disable this, and all networks share one part of the cache.
    let networkChanges: NetworkChangeHandler?
    let policy: PolicyInForce
    let operators: Operators
    /// The signal that ends the daemon; nil while it serves.
    var stopSignal: String?
    let log: Log
    /// Messages to the service manager; nil: there is none.
    let supervision: Supervision?
    var timetable = Timetable([])

    /// - Throws: `StartFailure` with a text for the operator.
    init(
        _ settings: Settings, _ secrets: LoadedSecrets, _ options: Options, _ listeners: BoundListeners,
        _ notice: ServiceNotice?, _ log: Log, rights: String
    ) throws(StartFailure) {
        start = DaemonStart(options: options, rights: rights)
        (self.log, ports, listening) = (log, listeners.ports, ListenAddressWatch(listeners.ports.addresses))
        adopted = listeners.connections
        do {
            SignalWatch.ignoreBrokenPipes()
            // Stop signals keep their default action during startup, which may hang.
            signals = try SignalWatch([StopSignal.reload])
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
            let streams = StreamServer(
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
            policy = PolicyInForce(resolving.upstreams, outbox, store, cache, resolving.addressSets, lists, links)
            upstreamsInForce = UpstreamsInForce(resolving.upstreams, resolving.probes, outbox, serving, files, ports)
            networkChanges = network.map { [resolving, upstreamsInForce] network in
                NetworkChangeHandler(network, cache, resolving, upstreamsInForce, settings)
            }
            linksInForce = LinksInForce(links, policy, upstreamsInForce, network, ports, outbox)
            operators = Operators(resolving, cache)
            (evidence, auditNotes) = (EvidenceLog(resolving.upstreams, store), AuditNotes(resolving))
            notifier = Notifier(loop, resolving.upstreams, outbox)
            portalCheck = PortalCheck(resolving.upstreams, outbox, network)
            threads = ServingThreads(ports.datagrams, records: records, mailbox: mailbox, makeFastPath: makeFastPath)
            supervision = notice.map { [threads, ports] notice in
                Supervision(notice, threads, descriptorsToKeep: ports.descriptorsToKeep, now: Clock.now())
            }
        } catch {
            throw StartFailure(error)
        }
        try openForOperators(listeners)
    }

    var outbox: Outbox { resolving.outbox }

    /// The parts that have deadlines. What happens in `resolving` is watched and logged in the same turn.
    var timedParts: [any TimedPart] {
        let others: [(any TimedPart)?] = [networkChanges, supervision]
        return resolving.timedParts + policy.timedParts
            + [upstreamsInForce.nat64, auditNotes, notifier, portalCheck, linksInForce.monitor, flight.watches, log]
            + others.compactMap { $0 } + operators.timedParts
    }

    // MARK: operators

    private var settings: Settings { reload.settings }

    private func openForOperators(_ listeners: BoundListeners) throws(StartFailure) {
        if let path = settings.control.socket {
            try operators.openControlSocket(at: path, resolving.loop) { [unowned self] in answer($0, from: $1) }
        }
        guard let listener = listeners.pages else { return }
        try operators.openPages(listener, resolving.loop, outbox) { [unowned self] now in statistics(now: now) }
    }

    func statistics(now: Instant) -> Statistics {
        Statistics(
            resolving: resolving, threads: threads, cache: resolving.answers.cache,
            pendingProbes: operators.pending.probes,
            evidence: evidence, notifier: notifier,
            network: networkChanges?.network, nat64Prefix: upstreamsInForce.nat64.prefixes.first,
            nameserverSource: upstreamsInForce.nameservers.path, start: start,
            settingsSeconds: reload.settingsAtWall / 1000, now: now,
            ports: ports, operatorSwitches: policy.switches.reports,
            avoidingFor: settings.avoidsProviders ? Machine.proxyVariable : nil, pages: operators.pages,
            lists: policy.lists, droppedLogLines: log.droppedLines)
    }

    /// A command's changes are in force before its reply.
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
