// Tencent's enterprise service with a token: plain text that TLS protects, up to eight names in a request, A or AAAA
// (providers.md 1.2 and 1.4). The token must never get into an error's text.

package import DNSWire

package struct DNSPodHTTPS: Dialect {
    private let url: String
    /// The authorisation id; empty for none.
    private let account: String
    private let token: String

    package init(url: String, account: String = "", token: String) {
        self.url = url
        self.account = account
        self.token = token
    }

    /// The service's limit (providers.md 1.2).
    package let maxNames = 8

    package func supports(_ type: RecordType) -> Bool { type.isAddress }

    package func supports(_ question: Question) -> Bool {
        supports(question.type) && DNSPodText.hostText(of: question.name) != nil
    }

    package func request(
        for questions: [Question], in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        precondition((1...maxNames).contains(questions.count), "\(questions.count) questions in one request")
        precondition(questions.allSatisfy { $0.type == questions[0].type }, "questions of several types in one request")
        guard questions.allSatisfy(supports) else { throw .unsupported }
        let names = questions.compactMap { DNSPodText.hostText(of: $0.name) }.joined(separator: ",")
        // In the order in which the vendor's own clients write them.
        var parameters = [
            (name: "dn", value: names), (name: "clientip", value: "1"), (name: "ttl", value: "1"),
            (name: "query", value: "1"),
        ]
        if !account.isEmpty { parameters.append((name: "id", value: account)) }
        if questions[0].type == .aaaa { parameters.append((name: "type", value: "aaaa")) }
        parameters.append((name: "token", value: token))
        return HTTPRequest(url: URLQuery.append(parameters, to: url))
    }

    package func answers(from reply: HTTPReply, to questions: [Question]) -> [Result<Answer, DialectError>] {
        let text: DNSPodText
        do throws(DialectError) {
            text = DNSPodText(try reply.acceptedBody())
        } catch {
            return questions.map { _ in .failure(error) }
        }
        return questions.map { question in
            Result { () throws(DialectError) in try text.answer(to: question, isAlone: questions.count == 1) }
        }
    }

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        guard let token = URLQuery.value(of: "token", in: request.url), !token.isEmpty else { throw .status(401) }
        let type: RecordType =
            switch URLQuery.value(of: "type", in: request.url)?.lowercased() {
            case nil: .a
            case "aaaa": .aaaa
            default: throw .garbage("type is neither absent nor aaaa")
            }
        guard let text = URLQuery.value(of: "dn", in: request.url) else { throw .garbage("no parameter dn") }
        let texts = text.split(separator: ",", maxSplits: maxNames, omittingEmptySubsequences: false)
        guard texts.count <= maxNames else { throw .garbage("more than \(maxNames) names in dn") }
        let names = texts.compactMap { Name(String($0)) }
        guard names.count == texts.count, !names.contains(where: \.isRoot) else { throw .garbage("dn is no name") }
        return names.map { Question($0, type) }
    }

    /// Every line ends in the client's address: the vendor's clients drop lines without one.
    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        let lines = zip(questions, resolutions).map { question, resolution in
            DNSPodText.line(question, resolution.answer, client: DNSPodHTTPS.anyClient)
        }
        return DNSPodText.reply(lines.joined(separator: "\n"))
    }

    /// In the place of the peer's address, which a dialect does not know: 203.0.113.7 (RFC 5737).
    private static let anyClient = Address.v4(0xCB00_7107)
}

extension Resolution {
    fileprivate var answer: Answer? {
        guard case .answer(let answer) = self else { return nil }
        return answer
    }
}
