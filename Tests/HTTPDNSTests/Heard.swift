// The parsed result of a reply as short text for tables.

import DNSWire
import HTTPDNS

extension Dialect {
    /// For each question: its addresses and TTL, the kind of emptiness and its TTL, or the failure.
    func heard(_ reply: HTTPReply, _ questions: [Question]) -> [String] {
        answers(from: reply, to: questions).map { result in
            switch result {
            case .success(let answer) where answer.kind == .records:
                answer.addresses.map(\.description).joined(separator: " ") + " \(answer.ttlSeconds)"
            case .success(let answer): "\(answer.kind) \(answer.ttlSeconds)"
            case .failure(.garbage): "garbage"
            case .failure(let error): "\(error)"
            }
        }
    }

    func heard(_ body: String, _ questions: [Question]) -> [String] {
        heard(HTTPReply(body: Array(body.utf8)), questions)
    }
}
