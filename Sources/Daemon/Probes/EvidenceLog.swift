// The last 256 reports of forged answers, as a ring buffer in memory and in the store, so that they survive a restart.
// Counts reports per source. Report n occupies slot n % capacity in both places; numbers continue across restarts.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Upstreams

final class EvidenceLog {
    private let upstreams: Upstreams
    private let store: StoreThread?
    private var reportOfSlot: [Int: EvidenceReport] = [:]
    private var nextNumber = 0
    /// Whether the stored reports were restored. Before that, no report is stored: it would replace one of another
    /// number.
    private var isRestored: Bool
    /// Reports since the start, for sources still in use.
    private var countOfSource: [Source: UInt64] = [:]
    /// When the log last named each source, for sources still in use.
    private var namedAt: [Source: Instant] = [:]
    /// Number of notes in the store that can't be parsed or are in the wrong slot.
    private(set) var brokenNotes = 0

    /// Bound on reports: enough for some weeks of occasional reports, or for the first hours of an attack.
    static let capacity = 256
    /// Pause between two log lines about a source, so that a network that forges every name does not log each one.
    static let namingPause: Duration = .seconds(600)

    init(_ upstreams: Upstreams, _ store: StoreThread?) {
        (self.upstreams, self.store) = (upstreams, store)
        isRestored = store == nil
    }

    var count: Int { reportOfSlot.count }

    /// The reports in the order of their arrival.
    var reports: [EvidenceReport] {
        reportOfSlot.values.sorted { ($0.seconds, $0.number) < ($1.seconds, $1.number) }
    }

    /// Returns the reports that were added last.
    func latest(_ count: Int) -> [EvidenceReport] {
        (nextNumber - min(count, nextNumber, EvidenceLog.capacity)..<nextNumber).compactMap {
            reportOfSlot[$0 % EvidenceLog.capacity]
        }
    }

    func divergences(of source: Source) -> Int { Int(countOfSource[source] ?? 0) }

    /// Restores reports from the store. Reports that were added before the store was read get numbers after the
    /// restored ones.
    func restore(_ notes: [String: String], now: Instant) {
        let added = latest(EvidenceLog.capacity)
        (reportOfSlot, nextNumber, isRestored) = ([:], 0, true)
        for slot in 0..<EvidenceLog.capacity {
            guard let note = notes[EvidenceLog.noteName(slot)] else { continue }
            guard let report = EvidenceReport(note: note), report.number % EvidenceLog.capacity == slot else {
                brokenNotes += 1
                continue
            }
            reportOfSlot[slot] = report
            nextNumber = max(nextNumber, report.number + 1)
        }
        for report in added { keep(report, now: now) }
    }

    /// Adds a report.
    ///
    /// - Returns: whether the log is to name the source of the forged answer: it has not within the last `namingPause`.
    @discardableResult
    func add(_ evidence: ForgeryEvidence, network: Partition, wallMilliseconds: Int64, now: Instant) -> Bool {
        let source = evidence.mismatched.source
        add(
            evidence.question, .init(evidence.mismatched, nameOfSource: upstreams.name),
            .init(evidence.verified, nameOfSource: upstreams.name), network: network,
            wallMilliseconds: wallMilliseconds, now: now)
        countOfSource[source, default: 0] += 1
        countOfSource = countOfSource.filter { isAsked($0.key) }
        namedAt = namedAt.filter { isAsked($0.key) }
        return isNamed(source, now: now)
    }

    /// Adds a report of an answer that contradicts a rule.
    ///
    /// - Returns: whether the log is to name its source.
    func add(
        _ contradicting: ContradictingAnswer, network: Partition, wallMilliseconds: Int64, now: Instant
    ) -> Bool {
        add(
            contradicting.question, .init(contradicting, nameOfSource: upstreams.name), nil, network: network,
            wallMilliseconds: wallMilliseconds, now: now)
        return isNamed(contradicting.source, now: now)
    }

    private func add(
        _ question: Question, _ mismatched: EvidenceReport.Claim, _ verified: EvidenceReport.Claim?,
        network: Partition, wallMilliseconds: Int64, now: Instant
    ) {
        let report = EvidenceReport(
            number: nextNumber, seconds: max(0, wallMilliseconds / 1000), name: question.name.description,
            type: question.type.description, network: Int(network.rawValue), mismatched: mismatched,
            verified: verified)
        keep(report, now: now)
    }

    /// Keeps a report under the next number.
    private func keep(_ report: EvidenceReport, now: Instant) {
        var report = report
        report.number = nextNumber
        let slot = nextNumber % EvidenceLog.capacity
        nextNumber += 1
        reportOfSlot[slot] = report
        guard isRestored else { return }
        store?.note(EvidenceLog.noteName(slot), report.note, now: now)
    }

    /// Returns whether the log is to name the source, and notes that it does.
    private func isNamed(_ source: Source, now: Instant) -> Bool {
        if let at = namedAt[source], now - at < EvidenceLog.namingPause { return false }
        namedAt[source] = now
        return true
    }

    private func isAsked(_ source: Source) -> Bool {
        switch source {
        case .provider(let id): upstreams.providers.name(of: id) != nil
        case .nameserver: false
        case .system, .local, .fallback: true
        }
    }

    static func noteName(_ slot: Int) -> String { "evidence-\(slot.digits(3))" }
}
