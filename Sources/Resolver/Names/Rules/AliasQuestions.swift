// Aliases by the setting `cname` of rules. The daemon answers with the CNAME records and the answer of the last target,
// which is asked as if a client had asked for it.

package import DNSWire

package struct AliasQuestions: Equatable, Sendable {
    /// The CNAME records, beginning with the name in the question.
    package let links: [ResourceRecord]
    /// The question about the last target; nil: the aliases form a loop, or the chain is too long.
    package let target: Question?
}

extension Answer {
    /// Returns the answer of the last target as the answer to the name of the first link.
    package func behind(_ links: [ResourceRecord]) -> Answer {
        let chain = links + records
        let answer =
            kind == .records
            ? Answer(records: chain)
            : Answer(negative: kind, chain: chain, authority: authority, ttlSeconds: ttlSeconds)
        return answer.remarked(remark)
    }
}

extension ExpiredAnswer {
    /// Returns the expired answer of the last target as the answer to the name of the first link.
    ///
    package func behind(
        _ links: [ResourceRecord], from alias: Question, to target: Question
    ) throws(MalformedMessage) -> ExpiredAnswer {
        let records = try answer.records(of: target)
        let count = Int(answer.answerCount)
        let answers = Array(records.prefix(count))
        let kind: Answer.Kind = answer.responseCode == .noSuchName ? .noSuchName : .noData
        let whole =
            answer.isNegative
            ? Answer(negative: kind, chain: answers, authority: records.dropFirst(count).first)
            : Answer(records: answers)
        return with(RenderedAnswer(whole.remarked(answer.extendedError).behind(links), to: alias))
    }
}
