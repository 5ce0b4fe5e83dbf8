// Carries out the operator's degrade switch: the resolver hears of it, what was learned under the other regime is
// removed, and the store keeps it over a restart.

import AnswerCache
import Control
import DNSWire
import LinuxIO
import Resolver

final class ProviderSwitches {
    private let resolving: ResolvingLoop
    private let cache: AnswerCache
    private var state = ProviderSwitch()
    /// When something comes on again by itself.
    private(set) var nextDeadline: Instant?

    private static let note = "providers switched off"
    /// Ends are in wall time, which may be set meanwhile: on a machine without a clock of its own, by decades.
    static let longestWait: Duration = .seconds(60)

    init(_ resolving: ResolvingLoop, _ cache: AnswerCache) {
        self.resolving = resolving
        self.cache = cache
    }

    /// What the store has kept. Its answers were learned under the same regime, but for names whose time is over now.
    func restore(_ notes: [String: String], now: Instant) {
        guard let text = notes[ProviderSwitches.note] else { return }
        state = ProviderSwitch(text: text)
        apply(to: state.expire(nowMilliseconds: Clock.wallMilliseconds()), now: now)
    }

    func isOff(_ name: Name) -> Bool { state.isOff(name) }

    /// - Returns: nil when there is no room for more.
    func switchOff(_ name: Name?, seconds: Int?, now: Instant) -> SwitchReport? {
        let name = name ?? .root
        let wall = Clock.wallMilliseconds()
        guard state.switchOff(name, untilMilliseconds: seconds.map { wall + Int64($0) * 1000 }) else { return nil }
        apply(to: [name], now: now)
        return report(name, wallMilliseconds: wall)
    }

    /// - Returns: false when nothing was off.
    func switchOn(_ name: Name?, now: Instant) -> Bool {
        let names = state.switchOn(name)
        apply(to: names, now: now)
        return !names.isEmpty
    }

    /// - Returns: what is on again.
    func timePassed(now: Instant) -> [Name] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        let names = state.expire(nowMilliseconds: Clock.wallMilliseconds())
        apply(to: names, now: now)
        return names
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

    /// - Parameter names: those that changed: what the cache has of them came from the wrong side.
    private func apply(to names: [Name], now: Instant) {
        let wall = Clock.wallMilliseconds()
        let instant = { (end: Int64) in now + .milliseconds(max(0, end - wall)) }
        resolving.handle(.switchedOff(state.endOfName.mapValues { $0.map(instant) }), now: now)
        nextDeadline = state.nextEndMilliseconds.map {
            min(max(instant($0), now + .seconds(1)), now + ProviderSwitches.longestWait)
        }
        guard !names.isEmpty else { return }
        for name in names {
            let scope = QuestionScope(name, includesDescendants: true)
            resolving.handle(.forgotten(scope), now: now)
            resolving.store?.forget(scope, now: now)
            _ = cache.remove(scope)
        }
        resolving.store?.note(
            ProviderSwitches.note, state.endOfName.isEmpty ? nil : state.text, now: now)
    }
}
