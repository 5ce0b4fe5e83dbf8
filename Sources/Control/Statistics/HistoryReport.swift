// The history of the counters for the charts of the status page, as one JSON object. Each column has one value per
// step, the oldest first.

package struct HistoryReport: DataReport, Equatable {
    package let stepSeconds: Int
    /// Time since the end of the newest step.
    package var ageSeconds = 0.0
    /// Counts per step, by the names in `countPaths`.
    package var counts: [String: Column] = [:]
    /// The 99th percentiles in microseconds, by source of the answer.
    package var latencies: [String: Column] = [:]
    /// The resident memory in KiB, at the end of the step.
    package var memory: [String: Column] = [:]
    /// The usual latency in milliseconds at the end of the step, by provider.
    package var providers: [String: Column] = [:]

    package enum CodingKeys: String, CodingKey {
        case counts, memory, providers
        case stepSeconds = "step_s"
        case ageSeconds = "age_s"
        case latencies = "latency_us"
    }

    /// Values in one string with spaces in between; "-" for a step without a value. The JSON encoder would spend tens
    /// of milliseconds on the numbers of a day.
    package struct Column: Encodable, Equatable, Sendable {
        package let text: String

        init(_ values: [Int?]) {
            text = values.map { $0.map(String.init) ?? "-" }.joined(separator: " ")
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }

    /// The counts with the numbers or groups in `stats` of which each is the sum.
    package static let countPaths: KeyValuePairs<String, [String]> = [
        "cache": ["responses.cache"], "provider": ["responses.provider"], "system": ["responses.system"],
        "stale": ["responses.stale"], "local": ["responses.local", "responses.fallback"],
        "blocked": ["responses.blocked"],
        "failed": ["responses.failure", "responses.refused", "responses.limited"], "dropped": ["dropped"],
        "hits": ["cache.hits"], "misses": ["cache.misses"],
    ]
}
