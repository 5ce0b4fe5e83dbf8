// Counts of blocked answers, by the rule or list that blocked the name.

import DNSWire
import Resolver

struct BlockedAnswers {
    private var counts: [BlockingRule: UInt64] = [:]
    /// Answers blocked by rules that have no counter of their own.
    private(set) var others: UInt64 = 0

    /// Bound on counters: more names than people write by hand. A list counts as one, and `stats` shows all counters.
    private static let maxRules = 256

    mutating func add(_ rule: BlockingRule) {
        if counts.count < BlockedAnswers.maxRules || counts[rule] != nil {
            counts[rule, default: 0] += 1
        } else {
            others += 1
        }
    }

    /// Counts by the name in a rule's `match`.
    var rules: [String: UInt64] { named { if case .name(let name) = $0 { name.description } else { nil } } }

    /// Counts by the path of a list.
    var lists: [String: UInt64] { named { if case .list(let path) = $0 { path } else { nil } } }

    private func named(_ name: (BlockingRule) -> String?) -> [String: UInt64] {
        Dictionary(counts.compactMap { rule, count in name(rule).map { ($0, count) } }) { $1 }
    }
}
