// Counts the lab's requests by provider, and the questions in them by name and by question. Keeps the last requests
// verbatim, secrets included. Tests compare these values with their expectations.

import DNSWire
import HTTPDNS

package struct Counters: Sendable {
    private var total = 0
    private var providers: [String: Int] = [:]
    private var names: [String: Int] = [:]
    private var questions: [String: Int] = [:]
    private var recent: [Request] = []
    /// Bound on the keys of a table; further keys are counted under "other".
    private static let maxKeys = 100_000
    /// Bound on kept requests: enough, since tests inspect only the most recent ones.
    private static let maxRecent = 100

    /// Records any request, including a refused one.
    mutating func note(_ request: HTTPRequest) {
        if recent.count == Counters.maxRecent { recent.removeFirst() }
        recent.append(
            Request(
                method: request.method == .get ? "GET" : "POST", target: request.url,
                headers: Dictionary(request.headers.fields.map { ($0.name, $0.value) }) { first, _ in first }))
    }

    /// Counts one request and its questions.
    mutating func count(provider: String, questions asked: [Question]) {
        total += 1
        Counters.add(provider, to: &providers)
        for question in asked {
            let name = question.name.description.lowercased()
            Counters.add(name, to: &names)
            Counters.add("\(provider) \(name) \(question.type)", to: &questions)
        }
    }

    var json: [UInt8] {
        JSONBody.encode(
            Report(total: total, providers: providers, names: names, questions: questions, recent: recent))
    }

    private static func add(_ key: String, to counts: inout [String: Int]) {
        let key = counts[key] != nil || counts.count < maxKeys ? key : "other"
        counts[key, default: 0] += 1
    }

    private struct Report: Encodable {
        let total: Int
        let providers: [String: Int]
        let names: [String: Int]
        /// "PROVIDER NAME TYPE" to count.
        let questions: [String: Int]
        /// The kept requests, the oldest first.
        let recent: [Request]
    }

    private struct Request: Encodable {
        let method: String
        let target: String
        /// The header fields that the dialects read.
        let headers: [String: String]
    }
}
