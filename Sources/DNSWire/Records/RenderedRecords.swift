// Converts a rendered answer back to records, for cache listings. Uses the parser for upstream replies.

extension RenderedAnswer {
    /// Returns the answer records, then the authority records, with their original TTLs.
    ///
    /// - Parameter question: the question that the answer was rendered for.
    package func records(of question: Question) throws(MalformedMessage) -> [ResourceRecord] {
        let headerAndQuestion = [UInt8](repeating: 0, count: Header.byteCount) + question.name.wire + [0, 0, 0, 0]
        let message = headerAndQuestion + body
        var cursor = ByteCursor(message.span, from: headerAndQuestion.count)
        var records: [ResourceRecord] = []
        for _ in 0..<(Int(answerCount) + Int(authorityCount)) {
            let head = try RecordHead(&cursor)
            if let record = try head.record(&cursor, isNeeded: true) { records.append(record) }
        }
        return records
    }
}
