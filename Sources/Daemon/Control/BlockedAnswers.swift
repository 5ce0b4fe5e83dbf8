// Counts of blocked answers, by the rule or list that blocked the name.

import Control
import DNSWire
import Resolver

struct BlockedAnswers {
    private var counts: [BlockingRule: UInt64] = [:]
    /// Answers blocked by rules that have no counter of their own.
    private var others: UInt64 = 0

    /// Bound on counters: more names than people write by hand. A list counts as one, and `stats` shows all counters.
    private static let maxRules = 256

    mutating func add(_ rule: BlockingRule) {
        if counts.count < BlockedAnswers.maxRules || counts[rule] != nil {
            counts[rule, default: 0] += 1
        } else {
            others += 1
        }
    }

    var report: StatsReport.Blocked {
        var report = StatsReport.Blocked()
        for (rule, count) in counts {
            switch rule {
            case .name(let name): report.rules[name.description] = Int(count)
            case .list(let path): report.lists[path] = Int(count)
            }
        }
        report.others = Int(others)
        return report
    }
}
