// DNS over HTTPS (RFC 8484), for any record type. The HTTP exchange and the question identify a reply. The id does not:
// it is always 0, so that HTTP caches match.

package import DNSWire
package import Settings

package struct DoHDialect: SingleQuestionDialect {
    /// The target of every request; with GET the message follows.
    private let target: [UInt8]
    private let method: HTTPRequest.Method
    private let trustsAuthenticData: Bool

    /// - Parameter trustsAuthenticData: the operator trusts the provider to validate.
    package init(url: String, method: HTTPRequest.Method = .get, trustsAuthenticData: Bool = false) {
        target = Array((method == .get ? URLQuery.append("dns=", to: url) : url).utf8)
        self.method = method
        self.trustsAuthenticData = trustsAuthenticData
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        self.init(
            url: provider.url.path, method: provider.method == .get ? .get : .post,
            trustsAuthenticData: provider.trustAD)
    }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> DoHDialect? {
        guard path == "/dns-query", JSONDialect.inLab(request, at: path) == nil else { return nil }
        return DoHDialect(url: "")
    }

    package static let mediaType = "application/dns-message"
    private static let id: UInt16 = 0
    private static let headersOfGet = HTTPHeaders([.init("Accept", mediaType)])
    private static let headersOfPost = HTTPHeaders([.init("Accept", mediaType), .init("Content-Type", mediaType)])

    package var carriesAliases: Bool { true }
    package var carriesDNSSEC: Bool { true }

    package func supports(_ type: RecordType) -> Bool { true }

    package func supports(_ question: Question) -> Bool { true }

    package func request(for question: Question, in context: DialectContext) throws(DialectError) -> HTTPRequest {
        switch method {
        case .get:
            // The request has no padding: a longer URL reduces cache hits, the reason for GET.
            let message = UpstreamQuery.message(
                for: question, id: DoHDialect.id, clientSubnet: context.clientSubnet,
                wantsAuthenticData: trustsAuthenticData, isLowercased: true)
            // The URL alphabet needs no percent-encoding.
            return HTTPRequest(target: Base64.url.append(message, to: target), headers: DoHDialect.headersOfGet)
        case .post:
            return HTTPRequest(
                method: .post, target: target, headers: DoHDialect.headersOfPost,
                body: UpstreamQuery.message(
                    for: question, id: DoHDialect.id, paddedTo: UpstreamQuery.paddingBlockBytes,
                    clientSubnet: context.clientSubnet, wantsAuthenticData: trustsAuthenticData, isLowercased: true))
        }
    }

    package func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer {
        let body = try reply.acceptedBody()
        if let type = reply.headers.value(of: "content-type"), !isMessage(type) {
            throw .garbage("Content-Type is not \(DoHDialect.mediaType)")
        }
        let answer: Answer
        do throws(UpstreamReplyError) {
            answer = try UpstreamReply.answer(
                in: body, to: question, id: DoHDialect.id, trustsAuthenticData: trustsAuthenticData)
        } catch {
            throw DialectError(error)
        }
        let age = reply.headers.ageSeconds
        guard let maxAge = reply.headers.maxAgeSeconds else { return answer.aged(bySeconds: age) }
        return answer.aged(bySeconds: age).withTTL(to: maxAge > age ? maxAge - age : 0)
    }

    /// Compares type and subtype, in any letter case and with any parameters (RFC 9110 section 8.3.1).
    private func isMessage(_ type: Span<UInt8>) -> Bool {
        let expected = DoHDialect.mediaType.utf8.span
        guard type.extracting(first: expected.count).matches(expected) else { return false }
        for index in expected.count..<type.count where type[index] != UInt8(ascii: " ") {
            if type[index] != UInt8(ascii: "\t") { return type[index] == UInt8(ascii: ";") }
        }
        return true
    }

    package func question(from request: HTTPRequest, in context: DialectContext) throws(DialectError) -> Question {
        var message = request.body
        if request.method == .get {
            guard let text = URLQuery.value(of: "dns", in: request.url) else { throw .garbage("no parameter dns") }
            guard let bytes = Base64.url.decode(text) else { throw .garbage("dns is not base64url") }
            message = bytes
        } else {
            guard let type = request.headers.value(of: "content-type"), isMessage(type) else { throw .status(415) }
        }
        guard case .query(let query) = Query.receive(message.span), query.recordClass == Query.classIN else {
            throw .garbage("not a query")
        }
        return query.question(in: message.span, from: .all)
    }

    package func reply(to question: Question, with answer: Answer) -> HTTPReply {
        let rendered = RenderedAnswer(answer, to: question)
        let message = message(answering: question) { query, packet, output in
            Reply.write(
                Reply.Body(rendered), to: query, in: packet, ageSeconds: 0, limit: StreamFraming.maxMessageBytes,
                into: &output)
        }
        return HTTPReply(
            headers: HTTPHeaders([
                .init("Content-Type", DoHDialect.mediaType), .init("Cache-Control", "max-age=\(answer.ttlSeconds)"),
            ]), body: message)
    }

    package func refusal(of question: Question, as code: ResponseCode) -> HTTPReply {
        let message = message(answering: question) { query, packet, output in
            Reply.write(code: code, to: query, in: packet, into: &output)
        }
        return HTTPReply(headers: HTTPHeaders([.init("Content-Type", DoHDialect.mediaType)]), body: message)
    }

    /// Builds a reply message; the query for a question is always the same.
    private func message(
        answering question: Question, write: (Query, Span<UInt8>, inout OutputSpan<UInt8>) -> Void
    ) -> [UInt8] {
        let packet = UpstreamQuery.message(for: question, id: DoHDialect.id)
        guard case .query(let query) = Query.receive(packet.span) else {
            preconditionFailure("what question(from:) accepted is a query")
        }
        return [UInt8](capacity: StreamFraming.maxMessageBytes) { output in
            write(query, packet.span, &output)
        }
    }
}

extension DialectError {
    fileprivate init(_ error: UpstreamReplyError) {
        self =
            switch error {
            case .foreign(.question): .wrongQuestion
            case .foreign(let reason): .garbage("message is no reply: \(reason.rawValue)")
            case .truncated: .garbage("truncated")
            case .serverFailure(let code, let extendedError): .serverFailure(code, extendedError)
            case .lame: .garbage("referral to other servers")
            case .malformed(let place): .garbage("\(place)")
            }
    }
}
