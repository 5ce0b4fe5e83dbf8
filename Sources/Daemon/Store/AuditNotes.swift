// Keeps what the audit counts in the store, as a note for each provider, across restarts.

import DNSWire
import LinuxIO
import Resolver
import Settings
import Store
import Upstreams

final class AuditNotes: TimedPart {
    let timer = PartTimer()
    private let resolving: ResolvingLoop
    /// What the store holds, by the name of the note.
    private var saved: [String: AuditHistory] = [:]
    private var isRestored = false
    /// When the counts are stored next; nil: there is no store.
    private(set) var nextDeadline: Instant? { didSet { timer.changed() } }

    /// Interval of storing: a crash loses the counts of this time at most.
    private static let interval: Duration = .seconds(600)
    private static let notePrefix = "audit of "

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
        nextDeadline = resolving.store != nil ? Clock.now() + AuditNotes.interval : nil
    }

    /// The name of the provider's note. With another host the provider is another service, which starts anew.
    private static func note(of provider: Provider) -> String {
        let host =
            switch provider.settings.url.host {
            case .name(let name): name
            case .address(let address): address.description
            }
        return String("\(notePrefix)\(provider.name) at \(host)".prefix(NoteRow.maxNameBytes))
    }

    private static var wallHour: Int { Int(Clock.wallMilliseconds() / 3_600_000) }

    /// Adds the counts of the store. Notes of providers that are no longer configured are removed.
    func restore(_ notes: [String: String], now: Instant) {
        isRestored = true
        let providers = resolving.upstreams.providers.providers
        for (note, text) in notes where note.hasPrefix(AuditNotes.notePrefix) {
            guard let provider = providers.first(where: { AuditNotes.note(of: $0) == note }),
                let history = AuditHistory(text: text, now: now, wallHour: AuditNotes.wallHour)
            else {
                resolving.outbox.put(.note(name: note, text: nil))
                continue
            }
            resolving.outbox.put(.event(.auditRestored(provider.id, history)))
        }
    }

    func timePassed(now: Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        self.nextDeadline = now + AuditNotes.interval
        save(now: now)
    }

    /// Stores the counts that changed, unless the store's counts were not restored yet.
    func save(now: Instant) {
        guard isRestored else { return }
        for provider in resolving.upstreams.providers.providers {
            guard let history = resolving.resolver.auditHistory(of: provider.id), !history.isEmpty,
                history != saved[AuditNotes.note(of: provider)]
            else { continue }
            saved[AuditNotes.note(of: provider)] = history
            let text = history.text(now: now, wallHour: AuditNotes.wallHour, maxBytes: NoteRow.maxValueBytes)
            resolving.outbox.put(.note(name: AuditNotes.note(of: provider), text: text))
        }
    }
}
