// A dialect: how one family of providers is asked and how it answers, as pure functions. No clock, no chance, no I/O;
// both sides of the conversation, so that the lab speaks with the same code that the daemon listens with.

package import DNSWire

package protocol Dialect: Sendable {
    /// How many names one request can carry; 1 or more.
    var maxNames: Int { get }

    /// One request can ask for A and AAAA of its names together.
    var asksBothFamilies: Bool { get }

    /// False: the provider can't be asked for this type at all, so another upstream has to be.
    func supports(_ type: RecordType) -> Bool

    /// False: the dialect can't carry this question, for its type or for its name.
    func supports(_ question: Question) -> Bool

    /// - Parameter questions: of 1 to `maxNames` names, and of one type; or, of a dialect that `asksBothFamilies`, of
    ///   both families for every name.
    /// - Throws: `unsupported` when one of them can't be carried.
    func request(for questions: [Question], in context: DialectContext) throws(DialectError) -> HTTPRequest

    /// One result for each question, in their order, and only what the reply proves: records under names that follow
    /// from the asked one. A reply that is cut, foreign or for another question is a failure; it is never "no data".
    func answers(from reply: HTTPReply, to questions: [Question]) -> [Result<Answer, DialectError>]

    /// The server's side of `request(for:in:)`, tolerant of what other clients send, strict about what the vendor
    /// checks: one question or more, as many as `request(for:in:)` takes.
    func questions(from request: HTTPRequest, in context: DialectContext) throws(DialectError) -> [Question]

    /// The server's side of `answers(from:to:)`. Dialects without response codes say a refusal in their own way.
    /// - Parameter resolutions: one for each question.
    func reply(to questions: [Question], with resolutions: [Resolution], in context: DialectContext) -> HTTPReply

    /// The server's side of an error that `questions(from:in:)` threw, as the vendor says it.
    func reply(to error: DialectError) -> HTTPReply
}

extension Dialect {
    package var asksBothFamilies: Bool { false }

    package func reply(to error: DialectError) -> HTTPReply {
        switch error {
        case .status(let status): HTTPReply(status: status)
        case .account, .clock: HTTPReply(status: 403)
        default: HTTPReply(status: 400, body: Array("\(error)\n".utf8))
        }
    }
}

/// What a message depends on beside question and settings: dialects have neither clock nor chance of their own.
package struct DialectContext: Sendable {
    /// By the provider's clock, in milliseconds since 1970, without leap seconds.
    package let unixMilliseconds: Int64
    /// 16 bytes that nobody can foresee, for this message alone: initialisation vectors and nonces.
    package let nonce: [UInt8]
    /// Where the clients are that the answers are for; nil: the provider goes by where the request comes from.
    package let clientSubnet: Prefix?

    package init(unixMilliseconds: Int64, nonce: [UInt8], clientSubnet: Prefix? = nil) {
        precondition(nonce.count == 16, "a nonce has 16 bytes")
        self.unixMilliseconds = unixMilliseconds
        self.nonce = nonce
        self.clientSubnet = clientSubnet
    }
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
    /// The provider does not serve this account: unknown, out of service, or not with this key. The text is the
    /// vendor's code.
    case account(String)
    /// The provider finds our time wrong: the signature has expired or lasts too long.
    case clock
    /// This address of the provider does not serve the account; another one does.
    case wrongNode
    /// The provider's reply about this name has no answer: any code but NOERROR and NXDOMAIN, with the reason that the
    /// provider gave.
    case serverFailure(ResponseCode, ExtendedError? = nil)
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
