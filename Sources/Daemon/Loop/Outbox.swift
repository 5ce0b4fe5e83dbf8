// What the parts of the daemon report to each other, in the order in which it happened. Only `Dispatch` reads it.

import DNSWire
import Fleet
import Resolver
import Upstreams

enum Output {
    /// An event for the resolver.
    case event(Event)
    /// The policy has changed.
    ///
    /// - Parameter former: nil for the first one.
    indirect case policyChanged(Policy, former: Policy?)
    /// Leases answer these names from now on.
    case leased(Set<Name>)
    /// Cached and stored answers to these questions are not used any more.
    case remove(QuestionScope)
    /// The same, and the resolver forgets what it knows of them.
    case forget(QuestionScope)
    /// The machine is on another network.
    case networkChanged(NetworkID)
    /// A note for the store.
    ///
    /// - Parameter text: nil: removes the note.
    case note(name: String, text: String?)
    /// An event for the log, and for the receivers that want it.
    case log(LogEvent)
    /// Something has to be read. One output stands for any number of changes until it is taken.
    case changed(Change)
    case nameserver(NameserverNews)
    /// The result of a probe.
    case probe(ProbeNews)
    case portal(PortalEvent)
    case provider(ProviderNews)
    /// What follows for the request of a fetch, if it is about one.
    case fleet(Membership.Outcome, FleetRequest?)
    /// The addresses that providers reported for this machine, after the results of the same replies.
    case exits([ReportedExit])
    /// Two sources contradict each other, and one of them was verified.
    case diverged(ForgeryEvidence)
    /// An answer contradicts the rule for its name.
    case contradicted(ContradictingAnswer)
}

enum Change: Hashable {
    /// The store's thread has events.
    case store
    /// A batch of files with names was read.
    case names
    /// The nameservers or domains of links may be others.
    case links
    /// A file that names the system's nameservers has changed.
    case nameserverFiles
    /// How many questions of accounts are billed, by this machine or by all members of the fleet.
    case billedSums
}

extension Event {
    /// Requests both address families of each name, because clients ask for both.
    static func prefetch(_ names: [Name]) -> Event {
        .requested(names.flatMap { [Question($0, .a), Question($0, .aaaa)] })
    }
}

/// A part keeps the outbox and writes to it whenever it has something to report: in a call, at a deadline, or when a
/// descriptor is ready.
final class Outbox {
    private var outputs: [Output] = []
    /// Outputs before this index are taken.
    private var next = 0
    private var changes: Set<Change> = []

    var isEmpty: Bool { outputs.isEmpty }

    func put(_ output: Output) { outputs.append(output) }

    func log(_ event: LogEvent) { outputs.append(.log(event)) }

    func changed(_ change: Change) {
        if changes.insert(change).inserted { outputs.append(.changed(change)) }
    }

    /// Takes the oldest output. Taken one by one, outputs keep their order also when carrying one out takes others.
    func take() -> Output? {
        guard next < outputs.count else { return nil }
        let output = outputs[next]
        next += 1
        if case .changed(let change) = output { changes.remove(change) }
        if next == outputs.count {
            outputs.removeAll(keepingCapacity: true)
            next = 0
        }
        return output
    }

    /// Takes the output of one change before all others.
    ///
    /// - Returns: whether there was one.
    func take(_ change: Change) -> Bool {
        guard changes.remove(change) != nil else { return false }
        outputs.removeSubrange(..<next)
        next = 0
        outputs.removeAll { if case .changed(change) = $0 { true } else { false } }
        return true
    }
}

extension Outbox: UpstreamOutbox {
    func report(_ output: UpstreamOutput) {
        switch output {
        case .event(let event): put(.event(event))
        case .fleet(let outcome, let request): put(.fleet(outcome, request))
        case .exits(let exits): put(.exits(exits))
        case .provider(let news): put(.provider(news))
        case .billedSums: changed(.billedSums)
        case .note(let name, let text): put(.note(name: name, text: text))
        case .requestFailed(let provider, let reason): log(.requestFailed(provider: provider, reason: reason))
        case .providerUnresolved(let name, let host): log(.providerUnresolved(name: name, host: host))
        case .providerResolved(let name, let host, let addresses):
            log(.providerResolved(name: name, host: host, addresses))
        case .quota(let warning): log(.quota(warning))
        case .loops(let server): put(.nameserver(.loops(server.description)))
        case .askedAgain(let server): put(.nameserver(.askedAgain(server.description)))
        case .standing(let news): put(.nameserver(NameserverNews(news)))
        case .redisLost(let server, let reason): log(.fleet(redisLost: server, reason: reason))
        case .redisWorks(let server): log(.fleet(redisWorks: server))
        }
    }
}
