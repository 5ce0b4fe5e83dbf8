// Tencent's free service at 119.29.29.29: plain text, one name, A records only (providers.md 1.2 and 1.4).

package import DNSWire
package import Settings

package struct DNSPod: SingleQuestionDialect {
    private let url: String
    /// The authorisation id; empty: none.
    private let account: String

    package init(url: String, account: String = "") {
        self.url = url
        self.account = account
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        self.init(url: provider.url.path, account: provider.account ?? "")
    }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> DNSPod? {
        let isEnterprise = ["alg", "token"].contains { URLQuery.value(of: $0, in: request.url) != nil }
        return path == "/d" && !isEnterprise ? DNSPod(url: "") : nil
    }

    package func supports(_ type: RecordType) -> Bool { type == .a }

    package func supports(_ question: Question) -> Bool {
        supports(question.type) && DNSPodText.hostText(of: question.name) != nil
    }

    package func request(for question: Question, in context: DialectContext) throws(DialectError) -> HTTPRequest {
        guard supports(question.type), let name = DNSPodText.hostText(of: question.name) else { throw .unsupported }
        var parameters = [(name: "dn", value: name), (name: "ttl", value: "1")]
        if let client = context.clientAddress { parameters.append((name: "ip", value: client)) }
        if !account.isEmpty { parameters.append((name: "id", value: account)) }
        return HTTPRequest(url: URLQuery.append(parameters, to: url))
    }

    package func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer {
        try DNSPodText(try reply.acceptedBody()).answer(to: question, isAlone: true)
    }

    package func question(from request: HTTPRequest, in context: DialectContext) throws(DialectError) -> Question {
        guard let text = URLQuery.value(of: "dn", in: request.url) else { throw .garbage("no parameter dn") }
        guard let name = Name(text), !name.isRoot else { throw .garbage("dn is no name") }
        return Question(name, .a)
    }

    package func reply(to question: Question, with answer: Answer) -> HTTPReply {
        DNSPodText.reply(DNSPodText.part(of: answer, question.type) ?? "")
    }

    package func refusal(of question: Question, as code: ResponseCode) -> HTTPReply {
        DNSPodText.reply("")
    }
}
