// A dialect with one question per request. Implements the multi-question `Dialect` on top of single-question
// functions.

package import DNSWire

package protocol SingleQuestionDialect: Dialect {
    /// - Throws: `unsupported` if the dialect cannot carry the type or name.
    func request(for question: Question, in context: DialectContext) throws(DialectError) -> HTTPRequest
    func answer(from reply: HTTPReply, to question: Question) throws(DialectError) -> Answer
    func question(from request: HTTPRequest, in context: DialectContext) throws(DialectError) -> Question
    func reply(to question: Question, with answer: Answer) -> HTTPReply
    func refusal(of question: Question, as code: ResponseCode) -> HTTPReply
}

extension SingleQuestionDialect {
    package var maxNames: Int { 1 }

    package func request(
        for questions: [Question], in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        try request(for: only(questions), in: context)
    }

    package func answers(from reply: HTTPReply, to questions: [Question]) -> [Result<Answer, DialectError>] {
        let question = only(questions)
        return [Result { () throws(DialectError) in try answer(from: reply, to: question) }]
    }

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        [try question(from: request, in: context)]
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        let question = only(questions)
        switch only(resolutions) {
        case .answer(let answer): return reply(to: question, with: answer)
        case .refusal(let code): return refusal(of: question, as: code)
        }
    }

    private func only<Element>(_ elements: [Element]) -> Element {
        precondition(elements.count == 1, "\(elements.count) questions for a dialect that carries one")
        return elements[0]
    }
}
