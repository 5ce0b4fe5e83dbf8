// The daemon from start to end: runs the event loop, and shuts down. An error before "ready" aborts startup with its
// reason; afterwards only a stop signal ends the daemon.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Upstreams

extension Daemon {
    /// Longest wait at shutdown until no client waits, while queries are still answered: enough for a working upstream.
    private static let quietPatience: Duration = .milliseconds(450)
    /// Longest wait for the last answers after that. The kernel queues queries meanwhile, and until the next process is
    /// ready: some 500 on each UDP socket with the usual limit (net.core.rmem_max).
    private static let lastAnswers: Duration = .milliseconds(50)
    /// Longest wait for the cache to be loaded, if queries wait in sockets of the former process.
    private static let loadPatience: Duration = .milliseconds(100)
    /// Longest wait for the store at startup. Shorter than TimeoutStartSec of the unit.
    private static let rulesPatience: Duration = .seconds(3)
    /// Longest wait for the flushes of the fleet: Redis answers within a millisecond.
    private static let flushPatience: Duration = .milliseconds(100)
    /// Longest wait for the first reports of links: programs on the system bus answer within milliseconds.
    private static let firstLinks: Duration = .milliseconds(500)

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
        try awaitEntries()
        dispatch(now: Clock.now())
        // From here on queries are received, and a stop answers them first.
        try signals.add(StopSignal.all)
        try threads.start()
        try resolving.streams.start(adopting: exchange(&adopted, with: []))
        log(
            .ready(
                listen: ports.places, threads: threads.count,
                providers: reload.settings.askedProviders.map(\.name),
                systemServers: resolving.upstreams.system.servers.map(\.description)))
        if let networkChanges, !networkChanges.network.hasWayOut { log(.networkLost) }
        if OpenResolverCheck.isOpenResolver(listen: ports.addresses, allow: reload.settingsOfStart.server.allow) {
            log(.openResolver)
        }
        operators.announce(reload.settings.control, outbox)
        dispatch(now: Clock.now())
        timetable = Timetable(timedParts)
        var turnedAt = Clock.now()
        supervision?.ready(ports.places, resolving.upstreams.providers.providers, now: turnedAt)
        Machine.unmapProgram()
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
        try serve(until: Clock.now() + Daemon.quietPatience) { [resolving, threads] in
            resolving.questionsOpen(with: threads.tally) == 0
        }
        try handOver()
        timetable = Timetable([])
        operators.close()
        resolving.upstreams.providers.stop(now: Clock.now())
        dispatch(now: Clock.now())
        resolving.upstreams.billing.save()
        auditNotes.save(now: Clock.now())
        dispatch(now: Clock.now())
        resolving.store?.stop()
        flight.files.finish()
        log(.stopped)
    }

    /// The rules that the operator added are in the store. Without them, names would go elsewhere.
    private func awaitAddedRules() throws(SystemError) {
        let end = Clock.now() + Daemon.rulesPatience
        while !policy.rules.isReady, Clock.now() < end {
            try resolving.loop.turn(until: end)
            dispatch(now: Clock.now())
        }
        if !policy.rules.isReady { outbox.log(.addedRulesLate) }
    }

    /// Waits for the fleet's flushes since the last run, because the store must not answer with flushed entries.
    /// Without Redis, the start does not wait for longer than this.
    private func awaitFlushes() throws(SystemError) {
        let fleet = resolving.upstreams.fleet
        guard resolving.store != nil else { return fleet.restore([:], now: Clock.now()) }
        guard fleet.isOn else { return }
        let end = Clock.now() + Daemon.flushPatience
        while !fleet.knowsFlushes, Clock.now() < end {
            try resolving.loop.turn(until: min(end, fleet.nextDeadline ?? end))
            fleet.timePassed(now: Clock.now())
            dispatch(now: Clock.now())
        }
        resolving.reportResults()
        dispatch(now: Clock.now())
        resolving.send(now: Clock.now())
    }

    /// Answers what was received, and leaves the rest and the connections to the next process. A datagram that is read
    /// is answered: the threads have ended before this waits. Sockets are closed only with the process, after the
    /// service manager has copies.
    private func handOver() throws(SystemError) {
        threads.stop()
        resolving.streams.finish(now: Clock.now())
        try serve(until: Clock.now() + Daemon.lastAnswers) { [resolving, threads] in
            resolving.questionsOpen(with: threads.tally) == 0 && resolving.streams.isFinished
        }
        resolving.refuseWaiting(now: Clock.now())
        supervision?.keep(connections: resolving.streams.descriptorsToKeep)
    }

    /// Runs the loop until the condition holds, at most until `end`.
    private func serve(until end: Instant, _ isDone: () -> Bool) throws(SystemError) {
        while !isDone(), Clock.now() < end {
            try resolving.loop.turn(until: min(end, timetable.nextDeadline ?? end))
            turn(lateBy: .zero, now: Clock.now())
        }
    }

    /// Waits for the store's entries if the sockets are older than this process: queries may wait in them, and the
    /// first then find the cache of the last process. Otherwise an early start is worth more.
    private func awaitEntries() throws(SystemError) {
        guard ports.areReused || ports.areHandedOver, let store = resolving.store else { return }
        let end = Clock.now() + Daemon.loadPatience
        while !store.hasLoaded, Clock.now() < end {
            try resolving.loop.turn(until: end)
            dispatch(now: Clock.now())
        }
    }

    private func takeSignals() {
        for signal in (try? signals.takeSignals()) ?? [] {
            if signal == StopSignal.reload { reloadSettings { _ in } } else { stopSignal = StopSignal.name(signal) }
        }
    }

    /// Waits for the first reports, so that no name of a link goes elsewhere after a restart.
    private func awaitLinks() throws(SystemError) {
        let end = Clock.now() + Daemon.firstLinks
        while linksInForce.monitor.isWaiting, Clock.now() < end {
            try resolving.loop.turn(until: min(end, linksInForce.monitor.nextDeadline ?? end))
            linksInForce.monitor.timePassed(now: Clock.now())
        }
        linksInForce.read(now: Clock.now())
    }
}
