// Silence of a provider that only names of one parent have shown.

import DNSWire

/// Parents of which two names waited in vain for any reply of a provider. Names of other parents may still get replies:
/// the nameservers of one zone that hang look the same.
struct SilentParents {
    private struct Wait {
        /// The first name, and the start of its request.
        let name: Name
        let startedAt: Instant
        var isOfTwoNames = false
        /// When the last name ended its wait.
        var at: Instant
    }

    private var waits: [Name: Wait] = [:]

    /// Whether two names of any parent waited in vain.
    var isAnyKnown: Bool { !waits.isEmpty && waits.values.contains { $0.isOfTwoNames } }

    /// - Parameter sharedWithin: requests that began within this time may have been one; nil: each was a request of its
    ///   own.
    /// - Returns: whether the name is the second one.
    mutating func waitedInVain(
        _ name: Name, parent: Name, startedAt: Instant, sharedWithin: Duration?, now: Instant
    ) -> Bool {
        waits = waits.filter { now - $0.value.at <= Bounds.unresponsiveMemory }
        guard var wait = waits[parent] else {
            if waits.count < Bounds.maxSilentParents { waits[parent] = Wait(name: name, startedAt: startedAt, at: now) }
            return false
        }
        let between = max(startedAt - wait.startedAt, wait.startedAt - startedAt)
        let isSecond = !wait.isOfTwoNames && name != wait.name && (sharedWithin.map { between > $0 } ?? true)
        (wait.isOfTwoNames, wait.at) = (wait.isOfTwoNames || isSecond, now)
        waits[parent] = wait
        return isSecond
    }

    func contains(_ parent: @autoclosure () -> Name, _ now: Instant) -> Bool {
        !waits.isEmpty && waits[parent()].map { $0.isOfTwoNames && now - $0.at <= Bounds.unresponsiveMemory } ?? false
    }

    mutating func removeAll() { if !waits.isEmpty { waits = [:] } }
}
