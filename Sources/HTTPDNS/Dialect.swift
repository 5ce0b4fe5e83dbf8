// A dialect: how one family of providers is asked and how it answers, as pure functions. No clock, no chance, no I/O;
// both sides of the conversation, so that the lab speaks with the same code that the daemon listens with.

package import DNSWire

package protocol Dialect: Sendable {
    /// False: the provider can't be asked for this type at all, so another upstream has to be.
    func supports(_ type: RecordType) -> Bool

    /// - Throws: `unsupported` for a type or name that the dialect can't carry.
    func request(for question: Question) throws(DialectError) -> HTTPRequest

    /// Only what the reply proves: records under names that follow from the asked one. A reply that is cut, foreign
    /// or for another question throws; it is never "no data".
    func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer

    /// The server's side of `request(for:)`, tolerant of what other clients send.
    func question(from request: HTTPRequest) throws(DialectError) -> Question

    /// The server's side of `answer(from:to:)`.
    func reply(to question: Question, with answer: Answer) -> HTTPReply

    /// The server's side of a failure. Dialects without response codes say it in their own way.
    func refusal(of question: Question, as code: ResponseCode) -> HTTPReply
}

package enum DialectError: Error, Equatable, Sendable {
    /// Neither an answer nor throttling, by the HTTP status.
    case status(Int)
    /// The provider works and wants fewer requests.
    case throttled(retryAfterSeconds: Int?)
    /// The body is not what the dialect allows: what was wrong, and where.
    case garbage(String)
    /// A whole answer to something else.
    case wrongQuestion
    /// The provider's resolver failed or refused: any code but NOERROR and NXDOMAIN.
    case serverFailure(ResponseCode)
    /// This dialect can't ask this.
    case unsupported
}

/// What every dialect holds a reply to.
package enum DialectBounds {
    /// A DNS message has 64 KiB at most, and no honest reply is longer; the HTTP client stops reading here too.
    package static let maxBodyBytes = 65_536
    /// Enough for any real name; keeps an answer's parts far below a DNS message's size.
    static let maxRecords = 512
    /// RFC 2181 section 8: a TTL has 31 bits.
    static let maxTTLSeconds: UInt32 = 0x7FFF_FFFF
    /// For records that came without a usable TTL (providers.md 9.5).
    static let defaultTTLSeconds: UInt32 = 60
    /// A provider that wants to be left alone for longer is tried again all the same.
    static let maxRetryAfterSeconds = 3600
}

extension HTTPReply {
    /// The body of a reply that may hold an answer; every other status and size throws.
    func acceptedBody() throws(DialectError) -> [UInt8] {
        switch status {
        case 200: break
        case 429: throw .throttled(retryAfterSeconds: retryAfterSeconds)
        case 403, 503:
            guard headers["Retry-After"] != nil else { throw .status(status) }
            throw .throttled(retryAfterSeconds: retryAfterSeconds)
        default: throw .status(status)
        }
        guard body.count <= DialectBounds.maxBodyBytes else { throw .garbage("body of \(body.count) bytes") }
        return body
    }

    /// RFC 9110 section 10.2.3; the form with a date needs a clock and counts as "not said".
    private var retryAfterSeconds: Int? {
        guard let text = headers["Retry-After"], let seconds = Int(text), seconds >= 0 else { return nil }
        return min(seconds, DialectBounds.maxRetryAfterSeconds)
    }
}
