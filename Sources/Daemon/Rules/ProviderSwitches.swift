// Carries out the operator's degrade switch: informs the resolver, removes answers that were learned in the other
// state, and stores the switch across restarts.

import Control
import DNSWire
import LinuxIO
import Resolver

final class ProviderSwitches: TimedPart {
    let timer = PartTimer()
    private let outbox: Outbox
    private var state = ProviderSwitch()
    /// The next time at which a switch expires.
    private(set) var nextDeadline: Instant? { didSet { timer.changed() } }
    private var isRestored: Bool

    private static let note = "providers switched off"
    /// The beginning of the names of notes that were written before the store was read. Each process has names of its
    /// own, so that it replaces no switch of another process.
    private static let earlyPrefix = "providers switched off early "
    private let earlyNote = ProviderSwitches.earlyPrefix + String(Clock.wallMilliseconds())
    /// Expiry is in wall time, and the clock may be set meanwhile: by decades on a machine without a real-time clock.
    static let longestWait: Duration = .seconds(60)

    /// - Parameter hasStore: the switches of a former process may be in the store, which is read later.
    init(_ outbox: Outbox, hasStore: Bool) {
        self.outbox = outbox
        isRestored = !hasStore
    }

    /// Adds the stored switches to those that the operator made before the store was read. Stored answers were learned
    /// in the same state, except for names whose switch has expired.
    func restore(_ notes: [String: String], now: Instant) {
        isRestored = true
        let stored = ProviderSwitch(text: notes[ProviderSwitches.note] ?? "")
        let early = notes.filter { $0.key.hasPrefix(ProviderSwitches.earlyPrefix) }.sorted { $0.key > $1.key }
        for (_, text) in early { state.add(ProviderSwitch(text: text)) }
        state.add(stored)
        apply(to: state.expire(nowMilliseconds: Clock.wallMilliseconds()), now: now)
        if state != stored { save() }
        for (name, _) in early { outbox.put(.note(name: name, text: nil)) }
    }

    func isOff(_ name: Name) -> Bool { state.isOff(name) }

    /// - Returns: nil if the limit of switches is reached.
    func switchOff(_ name: Name?, seconds: Int?, now: Instant) -> SwitchReport? {
        let name = name ?? .root
        let wall = Clock.wallMilliseconds()
        guard state.switchOff(name, untilMilliseconds: seconds.map { wall + Int64($0) * 1000 }) else { return nil }
        apply(to: [name], now: now)
        return report(name, wallMilliseconds: wall)
    }

    /// - Returns: false if nothing was switched off.
    func switchOn(_ name: Name?, now: Instant) -> Bool {
        let names = state.switchOn(name)
        apply(to: names, now: now)
        return !names.isEmpty
    }

    func timePassed(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        let names = state.expire(nowMilliseconds: Clock.wallMilliseconds())
        apply(to: names, now: now)
        for name in names { outbox.log(.switchedOn(name: name)) }
    }

    var reports: [SwitchReport] {
        let wall = Clock.wallMilliseconds()
        return state.endOfName.keys.map { report($0, wallMilliseconds: wall) }.sorted { $0.scope < $1.scope }
    }

    private func report(_ name: Name, wallMilliseconds: Int64) -> SwitchReport {
        let end = state.endOfName[name].flatMap { $0 }
        return SwitchReport(
            scope: name.description, secondsLeft: end.map { max(0, Int(($0 - wallMilliseconds + 999) / 1000)) },
            untilSeconds: end.map { Int($0 / 1000) })
    }

    /// - Parameter names: changed names; their cached answers come from the wrong side and are removed.
    private func apply(to names: [Name], now: Instant) {
        let wall = Clock.wallMilliseconds()
        let instant = { (end: Int64) in now + .milliseconds(max(0, end - wall)) }
        outbox.put(.event(.switchedOff(state.endOfName.mapValues { $0.map(instant) })))
        nextDeadline = state.nextEndMilliseconds.map {
            min(max(instant($0), now + .seconds(1)), now + ProviderSwitches.longestWait)
        }
        guard !names.isEmpty else { return }
        for name in names {
            outbox.put(.forget(QuestionScope(name, includesDescendants: true)))
        }
        save()
    }

    private func save() {
        let text = state.endOfName.isEmpty ? nil : state.text
        outbox.put(.note(name: isRestored ? ProviderSwitches.note : earlyNote, text: text))
    }
}
