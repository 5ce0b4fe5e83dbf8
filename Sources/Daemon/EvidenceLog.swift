// The last divergences, as evidence: a ring in memory, and each in a note of the store, so that they outlive the
// process. Counts them by source; judges nothing.
//
// A report with number n stands in slot n % capacity, in memory and in the store. Numbers go up over restarts.

import AnswerCache
import Control
import DNSWire
import LinuxIO
import Resolver

final class EvidenceLog {
    private let resolving: ResolvingLoop
    private var reportOfSlot: [Int: EvidenceReport] = [:]
    private var nextNumber = 0
    /// Since the start, of sources that are asked still.
    private var countOfSource: [Source: UInt64] = [:]
    /// Notes that say what we would not have written.
    private(set) var brokenNotes = 0

    /// Some weeks of trouble, or the first hours of an attack.
    static let capacity = 256

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
    }

    var count: Int { reportOfSlot.count }

    /// In the order in which they came.
    var reports: [EvidenceReport] {
        reportOfSlot.values.sorted { ($0.seconds, $0.number) < ($1.seconds, $1.number) }
    }

    func divergences(of source: Source) -> Int { Int(countOfSource[source] ?? 0) }

    /// What the store has kept. What was added before it was read has taken the place of the oldest, or, where numbers
    /// began anew because the file could not be read, of any.
    func restore(_ notes: [String: String]) {
        for slot in 0..<EvidenceLog.capacity {
            guard let note = notes[EvidenceLog.noteName(slot)] else { continue }
            guard let report = EvidenceReport(note: note), report.number % EvidenceLog.capacity == slot else {
                brokenNotes += 1
                continue
            }
            if reportOfSlot[slot] == nil { reportOfSlot[slot] = report }
            nextNumber = max(nextNumber, report.number + 1)
        }
    }

    func add(_ divergences: [Divergence], network: Partition, wallMilliseconds: Int64, now: Instant) {
        for divergence in divergences {
            let report = EvidenceReport(
                number: nextNumber, seconds: max(0, wallMilliseconds / 1000),
                name: divergence.question.name.description, type: divergence.question.type.description,
                network: Int(network.rawValue),
                condemned: .init(divergence.condemned, nameOfSource: resolving.name),
                verified: .init(divergence.verified, nameOfSource: resolving.name))
            let slot = nextNumber % EvidenceLog.capacity
            nextNumber += 1
            reportOfSlot[slot] = report
            resolving.store?.note(EvidenceLog.noteName(slot), report.note, now: now)
            count(divergence.condemned.source)
        }
    }

    private func count(_ source: Source) {
        countOfSource[source, default: 0] += 1
        countOfSource = countOfSource.filter { source, _ in
            if case .provider(let id) = source { resolving.providers.provider(id) != nil } else { true }
        }
    }

    static func noteName(_ slot: Int) -> String {
        let digits = String(slot)
        return "evidence-" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
