// What the parts of the daemon report to each other, in the order in which it happened. Only `Dispatch` reads it.

import Resolver

enum Output {
    /// An event for the log, and for the receivers that want it.
    case log(LogEvent)
    /// Something has to be read. One output stands for any number of changes until it is taken.
    case changed(Change)
    case nameserver(NameserverNews)
    /// The result of a probe.
    case probe(ProbeNews)
    case portal(PortalEvent)
    case provider(ProviderNews)
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
    /// Redis has told how many questions of billed accounts all members of the fleet have asked.
    case billedSums
}

/// A part keeps the outbox and writes to it whenever it has something to report: in a call, at a deadline, or when a
/// descriptor is ready.
final class Outbox {
    private var outputs: [Output] = []
    private var changes: Set<Change> = []

    func put(_ output: Output) { outputs.append(output) }

    func log(_ event: LogEvent) { outputs.append(.log(event)) }

    func changed(_ change: Change) {
        if changes.insert(change).inserted { outputs.append(.changed(change)) }
    }

    /// Returns what was reported since the last call.
    func take() -> [Output] {
        guard !outputs.isEmpty else { return [] }
        defer { (outputs, changes) = ([], []) }
        return outputs
    }

    /// Takes the output of one change before all others.
    ///
    /// - Returns: whether there was one.
    func take(_ change: Change) -> Bool {
        guard changes.remove(change) != nil else { return false }
        outputs.removeAll { if case .changed(change) = $0 { true } else { false } }
        return true
    }
}
