// The figures of a simulated day as text.

import Resolver
import Serving

struct DayFigures: CustomStringConvertible {
    let description: String

    init(
        _ account: DayAccount, _ counts: (cache: AnswerCache.Counts, refreshes: RefreshCounts, left: Int),
        processorSeconds seconds: Double, _ seed: UInt64
    ) {
        let waits = account.waits.sorted()
        description = """
            seed \(seed): \(account.queries) queries in \(seconds) s of processor time, \
            \(Int(Double(account.queries) / seconds)) per second
            from cache \(DayFigures.percent(account.fromCache, account.queries)); repeated questions that waited \
            \(DayFigures.percent(account.repeatedThatWaited, account.repeated))
            waits p50 \(DayFigures.quantile(waits, 0.5)) ms, p99 \(DayFigures.quantile(waits, 0.99)) ms, p99.9 \
            \(DayFigures.quantile(waits, 0.999)) ms of \(waits.count)
            expired \(account.expired.map { "\($0.key) \($0.value)" }.sorted()), of which while an upstream worked: \
            \(account.needless.count), and remembered \(account.remembered.map { "\($0.key) \($0.value)" }.sorted())
            failures \(account.failures.map { "\($0.key.rawValue) \($0.value)" }.sorted())
            upstream requests per query \(Double(account.requests) / Double(account.queries))
            refreshes \(counts.refreshes)
            cache \(counts.cache)
            """
    }

    private static func percent(_ part: Int, _ whole: Int) -> String {
        "\(Double(part * 100_000 / max(1, whole)) / 1000) %"
    }

    private static func quantile(_ sorted: [Int64], _ share: Double) -> Int64 {
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}
