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
    /// When `add` has named them last; of the same sources.
    private var namedAt: [Source: Instant] = [:]
    /// Notes that say what we would not have written.
    private(set) var brokenNotes = 0

    /// Some weeks of trouble, or the first hours of an attack.
    static let capacity = 256
    /// A network that leads every name astray is worth a line of the log now and then, and not one for each name.
    static let namingPause: Duration = .seconds(600)

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
    }

    var count: Int { reportOfSlot.count }

    /// In the order in which they came.
    var reports: [EvidenceReport] {
        reportOfSlot.values.sorted { ($0.seconds, $0.number) < ($1.seconds, $1.number) }
    }

    func divergences(of source: Source) -> Int { Int(countOfSource[source] ?? 0) }

    /// What the store has kept, but for what had the places of those that were added before it was read.
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

    /// - Returns: whose word it was, as far as they were not returned lately.
    @discardableResult
    func add(_ divergences: [Divergence], network: Partition, wallMilliseconds: Int64, now: Instant) -> [Source] {
        var named: [Source] = []
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
            let source = divergence.condemned.source
            countOfSource[source, default: 0] += 1
            if namedAt[source].map({ now - $0 >= EvidenceLog.namingPause }) ?? true {
                namedAt[source] = now
                named.append(source)
            }
        }
        countOfSource = countOfSource.filter { isAsked($0.key) }
        namedAt = namedAt.filter { isAsked($0.key) }
        return named
    }

    private func isAsked(_ source: Source) -> Bool {
        if case .provider(let id) = source { resolving.providers.provider(id) != nil } else { true }
    }

    static func noteName(_ slot: Int) -> String {
        let digits = String(slot)
        return "evidence-" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
