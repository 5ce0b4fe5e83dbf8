// What the parts of the daemon report to each other, in the order in which it happened. Only `Dispatch` reads it.

import Resolver

enum Output {
    /// An event for the log, and for the receivers that want it.
    case log(LogEvent)
    /// The store's thread has events.
    case storeEvents
    /// Files with names were read.
    case namesRead
    /// The nameservers or domains of links may have changed.
    case linksChanged
    /// A file that names the system's nameservers has changed.
    case nameserverFilesChanged
    case nameserver(NameserverNews)
    /// The result of a probe.
    case probe(ProbeNews)
    case portal(PortalEvent)
    /// Two sources contradict each other, and one of them was verified.
    case diverged(ForgeryEvidence)
    /// An answer contradicts the rule for its name.
    case contradicted(ContradictingAnswer)
}

/// A part keeps the outbox and writes to it whenever it has something to report: in a call, at a deadline, or when a
/// descriptor is ready.
final class Outbox {
    private var outputs: [Output] = []

    func put(_ output: Output) { outputs.append(output) }

    func log(_ event: LogEvent) { outputs.append(.log(event)) }

    /// Returns what was reported since the last call.
    func take() -> [Output] {
        guard !outputs.isEmpty else { return [] }
        defer { outputs = [] }
        return outputs
    }
}
