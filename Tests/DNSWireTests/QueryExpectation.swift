// The expected result in the head of a query vector: the only parser of "expect", "client", "limit" and "reply".

import DNSWire
import Serving
import TestSupport

/// The outcome: "miss", "local", "drop REASON" or a response code; then "opt" and "question" for the sections that the
/// reply repeats.
struct QueryExpectation {
    let outcome: String
    let hasOption: Bool
    let hasQuestion: Bool
    let client: Address
    /// The size limit of a datagram; present if the outcome is a miss.
    let limitBytes: Int?
    /// The exact bytes of the reply, if the vector states them.
    let replyText: String?

    init(_ vector: HexVector) throws {
        let text = try vector.value("expect")
        let words = text.split(separator: " ").map(String.init)
        outcome = text.hasPrefix("drop") ? text : words[0]
        hasOption = words.contains("opt")
        hasQuestion = words.contains("question") || outcome == "miss" || outcome == "local"
        client = vector.values("client").first.flatMap { Address($0) } ?? ServingStand.loopback
        limitBytes = vector.values("limit").first.flatMap { Int($0) }
        replyText = vector.values("reply").first
    }

    static func text(_ outcome: FastPath.Outcome) -> String {
        switch outcome {
        case .answered(let code), .answeredAndDue(let code, _), .answeredAwaited(let code, _): "answered \(code)"
        case .local: "local"
        case .refused(let code): code.description
        case .limited(let code): "limited \(code)"
        case .dropped(let reason): "drop \(reason)"
        case .miss: "miss"
        }
    }
}

extension [UInt8] {
    var hexText: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }
}
