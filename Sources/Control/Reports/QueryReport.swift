// The result of `query`: the records, their source, and how long resolving took.

package struct QueryReport: Report, Codable, Equatable {
    /// The name without the final dot.
    package var name: String
    package var type: String
    package var rcode: String
    /// The source: "cache", "local", "system", "fallback", or a provider's name.
    package var source: String
    package var milliseconds: Int
    package var records: [CacheEntryReport.Record] = []
    /// Why an expired answer was given; nil if the answer is fresh.
    package var staleCause: String?
    package var extendedError: ExtendedErrorReport?
    /// Why there is no answer; httpdnsctl then exits with an error.
    package var error: String?

    package init(name: String, type: String, rcode: String, source: String, milliseconds: Int) {
        self.name = name
        self.type = type
        self.rcode = rcode
        self.source = source
        self.milliseconds = milliseconds
    }

    package enum CodingKeys: String, CodingKey {
        case name, type, rcode, source, records, error
        case milliseconds = "ms"
        case staleCause = "stale"
        case extendedError = "ede"
    }

    /// An extended DNS error (RFC 8914).
    package struct ExtendedErrorReport: Codable, Equatable, Sendable {
        package var code: Int
        package var text: String

        package init(code: Int, text: String) {
            self.code = code
            self.text = text
        }
    }
}

extension QueryReport {
    /// True if no record answers the question (RFC 2308): there is no record, or only a CNAME chain.
    private var isNoData: Bool {
        rcode == "NOERROR" && records.allSatisfy { $0.type == "CNAME" && type != "CNAME" }
    }

    package var text: String {
        let age = staleCause.map { ", expired (\($0))" } ?? ""
        let lines =
            records.map(\.line) + (isNoData ? ["; NODATA: \(name) has no \(type) records"] : [])
            + ["; \(rcode) for \(name) \(type), from \(source) in \(milliseconds) ms\(age)"]
            + (extendedError.map { ["; EDE \($0.code): \($0.text)"] } ?? [])
            + (error.map { ["error: \($0)"] } ?? [])
        return lines.map { "\($0)\n" }.joined()
    }
}
