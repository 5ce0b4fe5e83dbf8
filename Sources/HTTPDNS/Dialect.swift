// A dialect: how one family of providers is asked and how it answers, as pure functions. No clock, no chance, no I/O;
// both sides of the conversation, so that the lab speaks with the same code that the daemon listens with.

package import DNSWire

package protocol Dialect: Sendable {
    /// How many questions one request can carry; 1 or more.
    var maxQuestions: Int { get }

    /// False: the provider can't be asked for this type at all, so another upstream has to be.
    func supports(_ type: RecordType) -> Bool

    /// False: the dialect can't carry this question, for its type or for its name.
    func supports(_ question: Question) -> Bool

    /// - Parameter questions: 1 to `maxQuestions`, of one type.
    /// - Throws: `unsupported` when one of them can't be carried.
    func request(for questions: [Question]) throws(DialectError) -> HTTPRequest

    /// One result for each question, in their order, and only what the reply proves: records under names that follow
    /// from the asked one. A reply that is cut, foreign or for another question is a failure; it is never "no data".
    func answers(from reply: HTTPReply, to questions: [Question]) -> [Result<Answer, DialectError>]

    /// The server's side of `request(for:)`, tolerant of what other clients send. One question or more, of one type.
    func questions(from request: HTTPRequest) throws(DialectError) -> [Question]

    /// The server's side of `answers(from:to:)`. Dialects without response codes say a refusal in their own way.
    /// - Parameter resolutions: one for each question.
    func reply(to questions: [Question], with resolutions: [Resolution]) -> HTTPReply
}

/// How a server is done with a question.
package enum Resolution: Equatable, Sendable {
    case answer(Answer)
    case refusal(ResponseCode)
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
