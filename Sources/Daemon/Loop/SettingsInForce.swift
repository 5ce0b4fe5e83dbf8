// Puts settings and lists in force: at the start, and when a reload has both.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Telemetry
import Upstreams

extension Daemon {
    /// The old settings stay in force when the new ones have a fault.
    ///
    /// - Parameter tell: called once with the result, after the lists of rules were read.
    func reloadSettings(_ tell: @escaping Reload.Tell) {
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

    func apply(_ settings: Settings) {
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
        upstreamsInForce.readNameservers(reload.settings.systemResolver, areOthers: false, now: now)
        upstreamsInForce.announce(now: now)
        networkChanges?.found(searchDomains: upstreamsInForce.nameservers.searchDomains, now: now)
    }
}
