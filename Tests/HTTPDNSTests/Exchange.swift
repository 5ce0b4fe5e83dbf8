// Common helpers of the module's tests: names, records, and replies with a text body.

import DNSWire
import HTTPDNS
import Testing
import httpdns_lab

func name(_ text: String) throws -> Name {
    try #require(Name(text))
}

func question(_ text: String, _ type: RecordType = .a) throws -> Question {
    Question(try name(text), type)
}

func record(_ owner: String, _ type: RecordType, _ ttlSeconds: UInt32, _ text: String) throws -> ResourceRecord {
    ResourceRecord(
        owner: try name(owner), type: type, ttlSeconds: ttlSeconds,
        data: try #require(PresentationForm.bytes(of: text, as: type)))
}

func reply(_ text: String, status: Int = 200, _ headers: [(String, String)] = []) -> HTTPReply {
    HTTPReply(
        status: status, headers: HTTPHeaders(headers.map { HTTPHeaders.Field($0.0, $0.1) }), body: Array(text.utf8))
}

/// The parsed reply, with errors as values.
func outcome(
    of reply: HTTPReply, to question: Question, by dialect: some Dialect
) -> Result<Answer, DialectError> {
    Result { () throws(DialectError) in try dialect.answer(from: reply, to: question) }
}

extension Result where Success == Answer, Failure == DialectError {
    var error: DialectError? {
        guard case .failure(let error) = self else { return nil }
        return error
    }

    var isGarbage: Bool {
        guard case .garbage = error else { return false }
        return true
    }
}

extension DialectContext {
    /// The clock and the nonce of the vectors in providers.md.
    static let test = DialectContext(unixMilliseconds: 1_755_525_250_000, nonce: Array(0x10...0x1F))

    static func test(
        clientSubnet text: String? = nil, nonce: [UInt8] = Array(0x10...0x1F), unixSeconds: Int64 = 1_755_525_250
    ) throws -> DialectContext {
        let subnet = try text.map { text in
            let subnet = Prefix(text)
            return try #require(subnet)
        }
        return DialectContext(unixMilliseconds: unixSeconds * 1000, nonce: nonce, clientSubnet: subnet)
    }
}

/// Short forms for one question and the test context.
extension Dialect {
    func request(for questions: [Question]) throws(DialectError) -> HTTPRequest {
        try request(for: questions, in: .test)
    }

    func questions(from request: HTTPRequest) throws(DialectError) -> [Question] {
        try questions(from: request, in: .test)
    }

    func reply(to questions: [Question], with resolutions: [Resolution]) -> HTTPReply {
        reply(to: questions, with: resolutions, in: .test)
    }

    func request(for question: Question) throws(DialectError) -> HTTPRequest { try request(for: [question]) }

    func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer {
        try answers(from: reply, to: [question])[0].get()
    }

    func question(from request: HTTPRequest) throws(DialectError) -> Question { try questions(from: request)[0] }

    func reply(to question: Question, with answer: Answer) -> HTTPReply {
        reply(to: [question], with: [.answer(answer)])
    }

    func refusal(of question: Question, as code: ResponseCode) -> HTTPReply {
        reply(to: [question], with: [.refusal(code)])
    }
}

extension Lab {
    func respond(to request: HTTPRequest) -> (reply: HTTPReply, fault: Fault?) { respond(to: request, in: .test) }
}
