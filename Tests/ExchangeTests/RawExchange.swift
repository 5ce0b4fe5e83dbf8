// One exchange of providers.md: the questions, the time, and the bytes that go over the wire in both directions.

import DNSWire
import HTTPDNS
import Testing

struct RawExchange: Sendable, CustomTestStringConvertible {
    let name: String
    /// The dialect; its URL is a path, because the dialect does not choose the server's address.
    let dialect: any Dialect
    let questions: [Question]
    /// The clock and the nonce of the two sides.
    let client: DialectContext
    let server: DialectContext
    /// The records of the names in question; the zone is the root, so that it holds all of them.
    let zone: String
    /// The TTL of negative answers.
    var negativeTTLSeconds = 60
    /// The target of the daemon's request line.
    let target: String
    /// The target of the vendor's request line, if it differs.
    var vendorsTarget: String?
    var headers: [String: String] = [:]
    let contentType: String
    let body: Body
    /// The answers as "NAME TTL ADDRESS...", or "NAME TTL" without addresses.
    let answers: [String]

    enum Body: Sendable {
        case bytes(String)
        /// The same values in any order. The client's address is left out if the dialect does not send it, because the
        /// lab does not know it.
        case json(String)
        /// Any body of the dialect, because the vendor's example shows none.
        case any
    }

    var testDescription: String { name }

    static let all: [RawExchange] = tencent + alibaba + others

    /// The nonce of vectors that state none.
    static let anyNonce = [UInt8](0x10...0x1F)

    static func at(_ unixMilliseconds: Int64, nonce: [UInt8] = anyNonce, subnet: String? = nil) -> DialectContext {
        DialectContext(
            unixMilliseconds: unixMilliseconds, nonce: nonce, clientSubnet: subnet.flatMap { Prefix($0) })
    }

    static func questions(_ name: String, _ types: RecordType...) -> [Question] {
        guard let name = Name(name) else { return [] }
        return types.map { Question(name, $0) }
    }
}
