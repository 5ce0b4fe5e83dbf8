// Restores cache entries and notes from the store.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Store
import Upstreams

extension Daemon {
    func takeStoreEvents(now: Instant) {
        guard let store = resolving.store else { return }
        for event in store.takeEvents() {
            if let news = LogEvent(event, path: store.path) { outbox.log(news) }
            switch event {
            case .notes(let notes): takeNotes(notes, now: now)
            case .loaded(let report): takeEntries(report, now: now)
            case .failed:
                policy.rules.storeFailed()
                beginWithoutStore(now: now)
            case .setAside, .recovered: break
            }
        }
    }

    private func takeEntries(_ report: LoadReport, now: Instant) {
        let keptNames = policy.storeLoaded(now: now)
        let here = report.inUse.filter { $0.partition == resolving.answers.serving.partition(for: .all) }
        let kept = keptNames.flatMap { [Question($0, .a), Question($0, .aaaa)] }
            .compactMap { resolving.answers.entries(of: $0).first }
        let restored = kept.map { RestoredAnswer($0, now: now) } + here.map { RestoredAnswer($0, now: now) }
        outbox.put(.event(.restored(restored)))
    }

    /// The components that wait for the store begin. Those that would replace its notes continue to wait: the file may
    /// be read later.
    private func beginWithoutStore(now: Instant) {
        if resolving.upstreams.lists.notes == nil { resolving.upstreams.lists.begin([:], now: now) }
        resolving.upstreams.fleet.restore([:], now: now)
        policy.beginKeeping()
    }

    private func takeNotes(_ notes: [String: String], now: Instant) {
        policy.switches.restore(notes, now: now)
        for name in policy.rules.restore(notes, reload.settings, now: now) {
            outbox.put(.remove(QuestionScope(name, includesDescendants: true)))
        }
        policy.restore(notes, now: now)
        resolving.upstreams.lists.begin(notes, now: now)
        resolving.upstreams.fleet.restore(notes, now: now)
        resolving.upstreams.billing.restore(notes, now: now)
        auditNotes.restore(notes, now: now)
        evidence.restore(notes, now: now)
        networkChanges?.restore(notes, now: now)
        for report in policy.switches.reports { outbox.log(.stillSwitchedOff(report)) }
    }
}
