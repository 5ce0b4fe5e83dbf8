// The reports of the daemon's parts to each other, in the order in which they happened. Only `Dispatch` reads them.

import DNSWire
import Resolver
import Upstreams

/// Most outputs are events, and every event moves outputs, so larger ones are indirect.
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
    indirect case log(LogEvent)
    /// Something has to be read. One output stands for any number of changes until it is taken.
    case changed(Change)
    case upstream(UpstreamOutput)
    /// The result of a probe.
    indirect case probe(ProbeNews)
    case portal(PortalEvent)
    /// Two sources contradict each other, and one of them was verified.
    indirect case forged(ForgeryEvidence)
    /// An answer contradicts the rule for its name.
    indirect case contradicted(ContradictingAnswer)
}

enum Change: Hashable {
    /// The store's thread has events.
    case store
    /// A batch of files with names was read.
    case names
    /// The next sample of the statistics is due.
    case statistics
    /// Rules were added, removed or restored at run time.
    case addedRules
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
    /// The outputs in order. A taken one is nil, because outputs are moved out, not copied.
    private var outputs: [Output?] = []
    /// Outputs before this index are taken.
    private var next = 0
    private var changes: Set<Change> = []

    var isEmpty: Bool { outputs.isEmpty }

    func put(_ output: consuming Output) { outputs.append(consume output) }

    func log(_ event: LogEvent) { outputs.append(.log(event)) }

    func changed(_ change: Change) {
        if changes.insert(change).inserted { outputs.append(.changed(change)) }
    }

    /// Takes the oldest output. Taken one by one, outputs keep their order also when carrying one out takes others.
    func take() -> Output? {
        guard next < outputs.count else { return nil }
        let output = outputs[next].take()
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
        guard changes.contains(change) else { return false }
        changes.remove(change)
        outputs.removeSubrange(..<next)
        next = 0
        outputs.removeAll { if case .changed(change) = $0 { true } else { false } }
        return true
    }
}

extension Outbox: UpstreamOutbox {
    func report(_ output: consuming UpstreamOutput) { put(.upstream(consume output)) }
}
