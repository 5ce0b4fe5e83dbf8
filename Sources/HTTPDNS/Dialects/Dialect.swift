// A dialect converts questions to a provider's HTTP requests and replies to answers, as pure functions without clock,
// randomness or I/O. It also implements the server side, which the lab uses.

package import DNSWire
package import Settings

package protocol Dialect: Sendable {
    /// Creates the dialect for valid settings of a provider.
    ///
    /// - Parameters:
    ///   - key: the content of `key-file`; nil: the settings name none, as for `cipherKey`.
    ///   - cipherKey: the content of `cipher-key-file`.
    /// - Throws: an error that only the dialect detects, such as a wrong key length.
    init(_ provider: Settings.Provider, key: String?, cipherKey: String?) throws(DialectFault)

    /// Returns the list of service nodes that the vendor offers to this provider; nil: none.
    func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)?

    /// The maximum number of names in one request, 1 or more.
    var maxNames: Int { get }

    /// True if one request can ask for A and AAAA of its names together.
    var asksBothFamilies: Bool { get }

    /// True if replies have the CNAME records that lead to the addresses. Most vendors return bare addresses.
    var carriesAliases: Bool { get }

    /// True if requests have DO and CD, and replies have the signatures and proofs of a zone, unchanged.
    var carriesDNSSEC: Bool { get }

    /// Returns false if the provider cannot be asked for this type; the resolver then uses another upstream.
    func supports(_ type: RecordType) -> Bool

    /// Returns false if the dialect cannot carry this question, because of its type or name.
    func supports(_ question: Question) -> Bool

    /// - Parameter questions: 1 to `maxNames` names of one type. If the dialect `asksBothFamilies`, the questions may
    ///   have both families for every name.
    /// - Throws: `unsupported` if a question cannot be carried.
    func request(for questions: [Question], in context: DialectContext) throws(DialectError) -> HTTPRequest

    /// Returns one result per question, in order. Keeps only records that belong to the query name or its alias chain.
    /// A truncated reply, or a reply to another question, is a failure; it is never NODATA.
    func answers(from reply: HTTPReply, to questions: [Question]) -> [Result<Answer, DialectError>]

    /// Returns the provider's time in seconds since 1970 if the body states it.
    func unixSeconds(in body: [UInt8]) -> Int64?

    /// Returns the address from which the provider saw the request, or the address of its network; nil if the reply
    /// does not state it. The reply to a request with a client subnet states that subnet.
    func clientAddress(in reply: HTTPReply) -> Address?

    /// Ways to send the client's address on which the vendor's documents and clients disagree. A test of the provider
    /// tries each.
    var clientForms: [ClientForm] { get }

    /// Server side: returns the dialect with the lab's account, which is fictitious and fixed, for a request in this
    /// dialect; otherwise nil. Vendors that share a path differ in a parameter that only one of them has.
    static func inLab(_ request: HTTPRequest, at path: Substring) -> Self?

    /// Server side of `request(for:in:)`: lenient about other clients' forms, strict about what the vendor checks.
    /// Returns one or more questions.
    func questions(from request: HTTPRequest, in context: DialectContext) throws(DialectError) -> [Question]

    /// Server side of `answers(from:to:)`. Dialects without response codes encode a refusal in their own way.
    ///
    /// - Parameter resolutions: one for each question.
    func reply(to questions: [Question], with resolutions: [Resolution], in context: DialectContext) -> HTTPReply

    /// Server side: the vendor's reply to an error of `questions(from:in:)`.
    func reply(to error: DialectError) -> HTTPReply
}

extension Dialect {
    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? { nil }
    package var asksBothFamilies: Bool { false }
    package var carriesAliases: Bool { false }
    package var carriesDNSSEC: Bool { false }
    package func unixSeconds(in body: [UInt8]) -> Int64? { nil }
    package func clientAddress(in reply: HTTPReply) -> Address? { nil }
    package var clientForms: [ClientForm] { [] }

    package func reply(to error: DialectError) -> HTTPReply {
        switch error {
        case .status(let status): HTTPReply(status: status)
        case .account, .clock: HTTPReply(status: 403)
        default: HTTPReply(status: 400, body: Array("\(error)\n".utf8))
        }
    }
}

/// A dialect that sends the client's address in one of several ways.
package struct ClientForm: Sendable {
    /// The name of the form, for operators.
    package let name: String
    package let dialect: any Dialect
}

/// The server's result for a question.
package enum Resolution: Equatable, Sendable {
    case answer(Answer)
    case refusal(ResponseCode)
}

/// Limits for the replies of all dialects.
package enum DialectBounds {
    /// The size of the largest DNS message; the HTTP client stops reading at this size, too.
    package static let maxBodyBytes = 65_536
    /// Maximum number of records: enough for any real name, and far below the size limit of a DNS message.
    static let maxRecords = 512
    /// TTL of records without a usable TTL (providers.md 9.5).
    static let defaultTTLSeconds: UInt32 = 60
    /// The longest honoured Retry-After.
    static let maxRetryAfterSeconds = 3600
}

extension HTTPReply {
    /// Returns the body of a reply that may hold an answer; throws for every other status and size.
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

    /// The seconds of Retry-After (RFC 9110 section 10.2.3). The date form needs a clock and is ignored.
    private var retryAfterSeconds: Int? {
        guard let text = headers["Retry-After"], let seconds = Int(text), seconds >= 0 else { return nil }
        return min(seconds, DialectBounds.maxRetryAfterSeconds)
    }
}
