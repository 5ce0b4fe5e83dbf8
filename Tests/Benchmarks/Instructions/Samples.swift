// The questions of the load, with the clients' queries and the providers' replies to them.

import DNSWire
import HTTPDNS

struct Samples {
    /// The number of questions. They fit the cache of `Work.hit` and all tables of the resolver that hold one entry per
    /// name.
    static let count = 4000
    static let ttlSeconds: UInt32 = 3600
    static let dialect = DoHDialect(url: "https://upstream.example/dns-query")
    static let jsonDialect = JSONDialect(url: "https://upstream.example/resolve")

    let questions: [Question]
    let answers: [Answer]
    /// The clients' queries, with EDNS.
    let packets: [[UInt8]]
    /// The provider's replies.
    let replies: [HTTPReply]
    /// The same in JSON.
    let jsonReplies: [HTTPReply]

    init() {
        questions = (0..<Samples.count).compactMap { Name("n\($0).bench.example") }.map { Question($0, .a) }
        answers = questions.map { question in
            Answer(
                records: [1, 2].map { number in
                    ResourceRecord(
                        owner: question.name, address: .v4(0xC633_6400 + number), ttlSeconds: Samples.ttlSeconds)
                })
        }
        packets = questions.map { UpstreamQuery.message(for: $0, id: 0x1234) }
        replies = zip(questions, answers).map { Samples.dialect.reply(to: $0, with: $1) }
        jsonReplies = zip(questions, answers).map { Samples.jsonDialect.reply(to: $0, with: $1) }
    }
}
