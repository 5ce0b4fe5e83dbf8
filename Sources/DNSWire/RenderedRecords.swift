// A rendered answer as records again, for people who look into the cache. Read with the parser for upstreams' replies:
// the body is what stands behind the question of a message.

extension RenderedAnswer {
    /// The records of the answer section, then those of the authority section, with the TTLs of the time of rendering.
    ///
    /// - Parameter question: the one that the answer was rendered to.
    package func records(of question: Question) throws(MalformedMessage) -> [ResourceRecord] {
        let headerAndQuestion = [UInt8](repeating: 0, count: Header.byteCount) + question.name.wire + [0, 0, 0, 0]
        let message = headerAndQuestion + body
        var cursor = ByteCursor(message.span, from: headerAndQuestion.count)
        var records: [ResourceRecord] = []
        for _ in 0..<(Int(answerCount) + Int(authorityCount)) {
            let head = try RecordHead(&cursor)
            if let record = try head.record(&cursor, isWanted: true) { records.append(record) }
        }
        return records
    }
}
