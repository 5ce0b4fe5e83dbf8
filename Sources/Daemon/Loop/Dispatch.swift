// A turn of the main loop, and what becomes of all that the daemon's parts report: the map of the daemon.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Telemetry
import Upstreams

extension Daemon {
    /// - Parameter lateBy: how long after its deadline the turn begins; zero if there was none.
    func turn(lateBy: Duration, now: Instant) {
        // Before the network is followed: search domains are part of its identity.
        if outbox.take(.nameserverFiles) { readNameservers(now: now) }
        // Before the timers: after a suspend, requests may look timed out only because the machine slept.
        if let networkChanges {
            networkChanges.follow(lateBy: lateBy, now: now)
            listening.news(routeChanges: networkChanges.network.routeChanges).forEach { outbox.log($0) }
        }
        dispatch(now: now)
        resolving.probes.readClock(now: now)
        timetable.timePassed(now: now)
        linksInForce.followRoutes(now: now)
        policy.followWallClock(now: now)
        dispatch(now: now)
        resolving.takeQuestions(now: now)
        // A fetch that begins meanwhile may fail at once.
        repeat {
            resolving.reportResults()
            dispatch(now: now)
            resolving.send(now: now)
            networkChanges?.followReplies(now: now)
            // Before the next results: those of the former network are not failures.
            dispatch(now: now)
            resolving.reportStateChanges(now: now)
            flight.files.counted(
                failures: resolving.counted.tally[.serverFailure], resolving.counts(with: threads.tally), now: now)
        } while resolving.hasResults || !outbox.isEmpty
        resolving.upstreams.fleet.releaseLeases(now: now)
        logQueries(now: now)
        resolving.sendReplies()
    }

    /// Carries out what the parts have reported, and what they report while this is done.
    func dispatch(now: Instant) {
        while let output = outbox.take() { carryOut(output, now: now) }
    }

    private func carryOut(_ output: Output, now: Instant) {
        switch output {
        case .event(let event): resolving.take(event, now: now)
        case .policyChanged(let new, let former):
            resolving.handle(.policyChanged(policy.announced(new)), now: now)
            policy.follow(new, after: former, now: now)
        case .leased(let names): policy.removeNames(names)
        case .remove(let scope): _ = resolving.remove(scope, now: now)
        case .forget(let scope):
            resolving.handle(.forgotten(scope), now: now)
            _ = resolving.remove(scope, now: now)
        case .networkChanged(let id): resolving.networkChanged(to: id, now: now)
        case .note(let name, let text): resolving.store?.note(name, text, now: now)
        case .log(let event): report(event, now: now)
        case .changed(.store): takeStoreEvents(now: now)
        case .changed(.names): takeLists(now: now)
        case .changed(.statistics): operators.sampler?.record(statistics(now: now), now: now)
        case .changed(.addedRules): policy.renew(now: now)
        case .changed(.links): linksInForce.read(now: now)
        case .changed(.nameserverFiles): readNameservers(now: now)
        case .changed(.billedSums): resolving.upstreams.billing.sumsChanged(now: now)
        case .upstream(let output): carryOut(output, now: now)
        case .probe(let news): operators.pending.probes.take(news, now: now)
        case .portal(let news):
            portalCheck.take(news, now: now)
            log(.portal(news))
        case .forged(let forged):
            let isNamed = evidence.add(forged, network: network, wallMilliseconds: Clock.wallMilliseconds(), now: now)
            tellOfEvidence(
                isNamed ? .divergence(source: resolving.upstreams.name(of: forged.mismatched.source)) : nil, now: now)
        case .contradicted(let answer):
            let isNamed = evidence.add(answer, network: network, wallMilliseconds: Clock.wallMilliseconds(), now: now)
            tellOfEvidence(isNamed ? event(of: answer) : nil, now: now)
        }
    }

    private func carryOut(_ output: UpstreamOutput, now: Instant) {
        if let event = output.logEvent { report(event, now: now) }
        switch output {
        case .event(let event): resolving.take(event, now: now)
        case .ask(let request): resolving.upstreams.ask(request, now: now)
        case .presenceDue:
            resolving.upstreams.fleet.announce(cacheEntries: resolving.answers.cache.counts().entries, now: now)
        case .flush(let scope): _ = resolving.flush(scope, now: now)
        case .exits(let exits): networkChanges?.take(exits, now: now)
        case .provider(let news): resolving.upstreams.take(news, now: now)
        case .billedSums: outbox.changed(.billedSums)
        case .note(let name, let text): resolving.store?.note(name, text, now: now)
        // Other servers are asked from now on.
        case .loops, .askedAgain: upstreamsInForce.announce(now: now)
        case .requestFailed, .providerUnresolved, .providerResolved, .quota, .standing, .redisLost, .redisWorks: break
        }
    }

    private func report(_ event: LogEvent, now: Instant) {
        log(event)
        notifier.take(event, now: now)
    }

    private var network: Partition { resolving.answers.serving.partition(for: .all) }

    private func event(of answer: ContradictingAnswer) -> LogEvent {
        .contradiction(
            source: resolving.upstreams.name(of: answer.source), name: answer.question.name, "\(answer.contradiction)")
    }

    /// Reports the latest evidence to the log and to the receivers of notifications.
    ///
    /// - Parameter event: the line of the log; nil: the log has named the source a short time ago.
    private func tellOfEvidence(_ event: LogEvent?, now: Instant) {
        if let event { log(event) }
        notifier.take(evidence.latest(1), now: now)
    }

    /// Reads queries for the log only if the log level shows them.
    private func logQueries(now: Instant) {
        let isLogged = log.logsQueries && reload.settings.log.queries
        guard isLogged || flight.watches.isLogging else { return }
        let before = flight.watches.setLogging(
            isLogged ? .init(showsClients: reload.settings.log.clients) : nil, now: now)
        log.queries(flight.watches.takeLines() + before)
    }
}
