// One exchange as providers.md writes it down: what is asked, when, and the bytes that go over the wire in both
// directions.

import DNSWire
import HTTPDNS
import Testing

struct RawExchange: Sendable, CustomTestStringConvertible {
    let name: String
    /// Its URL is a path, as the daemon has it: where the server is dialled is not the dialect's business.
    let dialect: any Dialect
    let questions: [Question]
    /// The clock and the chance of the two sides.
    let client: DialectContext
    let server: DialectContext
    /// Records of the names that are asked for; the root is a zone, so that they lie in one.
    let zone: String
    /// What is said of the lifetime of emptiness.
    var negativeTTLSeconds = 60
    /// What stands in our request line.
    let target: String
    /// What stands in the vendor's, if that is something else.
    var vendorsTarget: String?
    var headers: [String: String] = [:]
    let contentType: String
    let body: Body
    /// As "NAME TTL ADDRESS...", or "NAME TTL" where there is none.
    let answers: [String]

    enum Body: Sendable {
        case bytes(String)
        /// The same values, whatever the order of the members. Not the client's address, where a dialect doesn't say
        /// it: the lab does not know it.
        case json(String)
        /// As the dialect writes it: the vendor's example shows none.
        case any
    }

    var testDescription: String { name }

    static let all: [RawExchange] = tencent + alibaba + others

    /// What a context has in these vectors when nothing is said about it.
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
