// Carries out the command of a request line on the control socket if the sender is permitted to use it.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Upstreams

struct ControlCommands {
    let statistics: Statistics
    let resolving: ResolvingLoop
    let switches: ProviderSwitches
    let rules: RuntimeRules
    /// The settings in force.
    let settings: Settings
    let pending: PendingCommands
    let evidence: EvidenceLog
    let watches: QueryWatches
    let cache: AnswerCache
    let log: Log
    let topTexts: KeptReplies<Bool, String>
    let reload: (@escaping Reload.Tell) -> Void
    let now: Instant

    private static var rights: Rights {
        let own = Machine.user
        return Rights(
            userID: own.userID == Machine.sharedID ? nil : own.userID,
            groupID: own.groupID == Machine.sharedID ? nil : own.groupID)
    }

    /// Whether the peer may run every command.
    static func isTrusted(_ peer: LocalPeer) -> Bool {
        rights.isTrusted(userID: peer.userID, groupID: peer.groupID)
    }

    /// Whether a user may run every command; for a user whose groups are not known.
    static func isTrusted(_ userID: UInt32) -> Bool { rights.isTrusted(userID: userID, groupID: nil) }

    /// Returns the complete answer to one request line.
    func answer(to line: [UInt8], from peer: LocalPeer) -> ControlAnswer {
        let request: Request
        do throws(RefusedRequest) {
            request = try Request(line: line)
        } catch {
            return whole(Reply.refusal(error.refusal).rendered(asJSON: error.wantsJSON))
        }
        let refusal = ControlCommands.rights.refusal(of: request, userID: peer.userID, groupID: peer.groupID)
        if let refusal { return whole(.refusal(refusal), request) }
        do throws(Refusal) {
            return try carryOut(request, of: peer, boundUser: ControlCommands.isTrusted(peer) ? nil : peer.userID)
        } catch {
            return whole(.refusal(error), request)
        }
    }

    /// - Parameter boundUser: the user ID of an unprivileged sender, to which per-user bounds apply; nil for a
    ///   privileged one.
    private func carryOut(
        _ request: Request, of peer: LocalPeer, boundUser: UInt32?
    ) throws(Refusal) -> ControlAnswer {
        switch request.command {
        case .help(let word): return whole(.help(word), request)
        case .stats(asPrometheus: false): return whole(statistics.stats, request)
        case .stats(asPrometheus: true): return whole(statistics.prometheus)
        case .top: return top(request)
        case .log(let level, let seconds): return setLogLevel(level, seconds: seconds, request)
        case .reload: return reloaded(request)
        case .watch(let pattern, let showsClients):
            return .stream(
                try watches.begin(
                    pattern, showsClients: showsClients, wantsJSON: request.wantsJSON, by: boundUser, now: now))
        case .recorder(let showsClients):
            return .pages(
                ListingPages.events(
                    resolving.recorder.records, watches.scope, showsClients: showsClients, wantsJSON: request.wantsJSON)
            )
        case .explain(let name, let type, let client):
            let group = client.map { resolving.group(of: $0) } ?? .all
            return try explain(Question(name, type, from: group), request, by: boundUser)
        case .inflight: return whole(resolving.inflight(now: now), request)
        case .query(let terms):
            return .stream(try pending.queries.begin(terms, wantsJSON: request.wantsJSON, by: boundUser, now: now))
        case .status: return whole(statistics.status, request)
        case .cache(let view, let scope):
            return .pages(
                ListingPages.cache(
                    cache, resolving, view, scope, wantsJSON: request.wantsJSON,
                    nowMilliseconds: Clock.millisecondsSinceBoot(now)))
        case .flush(let scope, let wholeFleet): return flush(scope, wholeFleet: wholeFleet, request)
        case .prefetch(let names):
            resolving.handle(.prefetch(names), now: now)
            return whole(.prefetching(names.count), request)
        case .httpdns(let change): return try switched(change, request)
        case .rule(let action): return try changed(action, request)
        case .providers(.list):
            let report = ProvidersReport(statistics.providers, nameservers: statistics.nameservers)
            return whole(report, request)
        case .network(.current): return whole(statistics.networkReport, request)
        case .network(.history): return whole(statistics.networkHistory, request)
        case .network(.names(let writesRules)):
            return whole(try splitNames(writesRules: writesRules), request)
        case .fleet: return .stream(try pending.fleetReports.begin(wantsJSON: request.wantsJSON, now: now))
        case .providers(.reset(let name)): return try reset(name, request)
        case .providers(.test(let name)): return try test(name, request)
        case .verify(let name): return .stream(try pending.probes.verify(name, wantsJSON: request.wantsJSON, now: now))
        case .report(let name, let address):
            return .stream(
                try pending.probes.report(name, address, by: peer.userID, wantsJSON: request.wantsJSON, now: now))
        case .verdicts(let name):
            return .pages(ListingPages.verdicts(resolving, on: name, wantsJSON: request.wantsJSON, now: now))
        case .evidence: return .pages(ListingPages.evidence(evidence.reports, wantsJSON: request.wantsJSON))
        case .audit: return whole(statistics.audit, request)
        case .whois(let address):
            return .pages(ListingPages.whois(address, cache, resolving, wantsJSON: request.wantsJSON, now: now))
        }
    }

    /// Limits unprivileged users to the rate of explanations that also applies over DNS.
    private func explain(
        _ question: Question, _ request: Request, by boundUser: UInt32?
    ) throws(Refusal) -> ControlAnswer {
        guard boundUser == nil || resolving.explanations.take(now: now) else {
            throw Refusal(ExplanationLimit.refusal)
        }
        return whole(resolving.explanation(of: question, now: now), request)
    }

    /// Switches providers off or on for all names, or for one name with its subdomains.
    private func switched(_ change: HTTPDNSSwitch, _ request: Request) throws(Refusal) -> ControlAnswer {
        switch change {
        case .off(let name, let seconds):
            guard let report = switches.switchOff(name, seconds: seconds, now: now) else {
                throw Refusal(
                    "too many names are switched off; allowed: \(ProviderSwitch.maxNames), or "
                        + "\(ProviderSwitch.maxTextBytes) bytes of them; switch some on")
            }
            return whole(.switched(report), request)
        case .on(let name):
            _ = switches.switchOn(name, now: now)
            return whole(.switched(switches.reports.first), request)
        }
    }

    private func changed(_ action: RuleAction, _ request: Request) throws(Refusal) -> ControlAnswer {
        switch action {
        case .list: return whole(.rules(rules.reports), request)
        case .add(let name, let words, let seconds):
            do throws(Settings.Rule.WordsError) {
                let report = try rules.add(name, words, seconds: seconds, settings, now: now)
                return whole(.ruleAdded(report), request)
            } catch {
                throw Refusal(error.text)
            }
        case .remove(let name):
            guard rules.remove(name, now: now) else {
                throw Refusal("no rule was added for \(name); see rule ls")
            }
            return whole(.ruleRemoved(name.description), request)
        }
    }

    /// Reports the names that only the network has. With `writesRules`, adds the proposed rules first.
    private func splitNames(writesRules: Bool) throws(Refusal) -> SplitNamesReport {
        let found = resolving.inPlace { $0.splitHorizon(announced: statistics.searchDomains) }
        var report = SplitNamesReport(
            found, network: statistics.currentNetwork?.id ?? "", now: now, nameOfSource: resolving.upstreams.name)
        guard writesRules else { return report }
        var written: [AddedRuleReport] = []
        for name in found.proposals {
            do throws(Settings.Rule.WordsError) {
                written.append(try rules.add(name, SplitNamesReport.ruleWords, seconds: nil, settings, now: now))
            } catch {
                throw Refusal("\(written.count) of \(found.proposals.count) rules were added: \(error.text)")
            }
        }
        report.written = written
        return report
    }

    private func reset(_ name: String?, _ request: Request) throws(Refusal) -> ControlAnswer {
        guard let name else {
            resolving.reset(nil, now: now)
            return whole(.reset(resolving.upstreams.providers.providers.count), request)
        }
        let provider = try resolving.upstreams.providers.provider(named: name)
        resolving.reset(provider.id, now: now)
        resolving.upstreams.billing.recount(provider, now: now)
        return whole(.reset(1), request)
    }

    private func test(_ name: String, _ request: Request) throws(Refusal) -> ControlAnswer {
        let provider = try resolving.upstreams.providers.provider(named: name)
        guard let endpoint = provider.endpoints.first else { throw Refusal(provider.unresolved) }
        let stream = ControlStream(wantsJSON: request.wantsJSON)
        let test = ProviderTest(
            provider, at: endpoint, resolving.upstreams.providers, pending.tests.timer, stream)
        guard pending.tests.begin(test, now: now) else {
            throw Refusal("\(ProviderTests.maxRunning) tests are running; wait for one to end")
        }
        return .stream(stream)
    }

    private func flush(_ scope: QuestionScope, wholeFleet: Bool, _ request: Request) -> ControlAnswer {
        guard wholeFleet else { return whole(flushed(scope, now: now), request) }
        let stream = ControlStream(wantsJSON: request.wantsJSON)
        resolving.upstreams.fleet.orderFlush(scope, now: now) { fault in
            stream.finish(fault.map { .refusal(Refusal($0)) } ?? flushed(scope, now: Clock.now()))
        }
        return .stream(stream)
    }

    private func flushed(_ scope: QuestionScope, now: Instant) -> Control.Reply {
        resolving.upstreams.fleet.flushed(scope, now: now)
        return .removed(resolving.flush(scope, now: now))
    }

    func whole(_ report: some Report, _ request: Request) -> ControlAnswer {
        whole(report.rendered(asJSON: request.wantsJSON))
    }

    private func whole(_ reply: Control.Reply, _ request: Request) -> ControlAnswer {
        whole(reply.rendered(asJSON: request.wantsJSON))
    }

    func whole(_ text: String) -> ControlAnswer {
        .pages(AnyIterator(CollectionOfOne(text).makeIterator()))
    }
}

extension ProviderFetches {
    /// Returns the provider with this name, or throws a refusal that lists the configured names.
    func provider(named name: String) throws(Refusal) -> Provider {
        if let provider = providers.first(where: { $0.name == name }) { return provider }
        let names = providers.map(\.name).joined(separator: ", ")
        throw Refusal("no provider \(name); allowed: \(names)")
    }
}
