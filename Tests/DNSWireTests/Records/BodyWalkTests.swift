// Answer bodies from outside: a body that the module wrote is read back, and a changed body neither stops the process
// nor yields records that the question does not lead to.

import DNSWire
import TestSupport
import Testing

struct BodyWalkTests {
    private let question: Question
    private let edge: Name
    private let zone: Name

    init() throws {
        question = Question(try #require(Name("www.Example.com")), .a)
        edge = try #require(Name("edge.cdn.example.com"))
        zone = try #require(Name("example.com"))
    }

    private var startOfAuthority: ResourceRecord {
        ResourceRecord(
            owner: zone, type: .soa, ttlSeconds: 60,
            data: zone.wire + edge.wire + [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 60])
    }

    private var chain: [ResourceRecord] {
        [
            ResourceRecord(owner: question.name, alias: edge, ttlSeconds: 60),
            ResourceRecord(owner: edge, address: .v4(0xC000_0201), ttlSeconds: 30),
            ResourceRecord(owner: edge, address: .v4(0xC000_0202), ttlSeconds: 30),
        ]
    }

    /// A DNAME record with its CNAME record, and the address at the end of the chain.
    private var redirected: [ResourceRecord] {
        let parent = question.name.parent ?? .root
        let target = zone.parent ?? .root
        return [
            ResourceRecord(owner: parent, type: .dname, ttlSeconds: 60, data: target.wire),
            ResourceRecord(owner: question.name, alias: Name("www.com") ?? .root, ttlSeconds: 60),
            ResourceRecord(owner: Name("www.com") ?? .root, address: .v4(0xC000_0201), ttlSeconds: 30),
        ]
    }

    /// 32 aliases and an address.
    private var longest: [ResourceRecord] {
        let names = [question.name] + (1...32).compactMap { Name("n\($0).example.net") }
        return zip(names, names.dropFirst()).map { ResourceRecord(owner: $0, alias: $1, ttlSeconds: 60) }
            + [ResourceRecord(owner: names[32], address: .v4(0xC000_0201), ttlSeconds: 30)]
    }

    private var samples: [Answer] {
        [
            Answer.addresses(of: question.name, count: 3),
            Answer(records: chain),
            Answer(negative: .noData, chain: Array(chain.prefix(1)), authority: startOfAuthority),
            Answer(negative: .noSuchName, authority: startOfAuthority),
            Answer(negative: .noData),
            Answer(records: redirected),
            Answer(records: longest),
            Answer(negative: .noData, chain: Array(redirected.prefix(2))),
        ]
    }

    private func reread(
        _ rendered: RenderedAnswer, body: [UInt8]? = nil, answers: UInt16? = nil, authorities: UInt16? = nil,
        code: ResponseCode? = nil, to other: Question? = nil
    ) -> RenderedAnswer? {
        RenderedAnswer(
            verifying: body ?? rendered.body, answerCount: answers ?? rendered.answerCount,
            authorityCount: authorities ?? rendered.authorityCount, responseCode: code ?? rendered.responseCode,
            isCut: rendered.isCut, to: other ?? question)
    }

    @Test("every kind of answer is read back as it was written")
    func roundTrip() {
        for sample in samples {
            let rendered = RenderedAnswer(sample, to: question)
            #expect(reread(rendered) == rendered)
            #expect(rendered.addresses == sample.addresses)
        }
    }

    @Test("a DNAME record counts only above the name, directly before the CNAME record that it makes")
    func redirections() {
        let (made, alias, address) = (redirected[0], redirected[1], redirected[2])
        let other = ResourceRecord(owner: made.owner, type: .dname, ttlSeconds: 60, data: edge.wire)
        let ofOthers = ResourceRecord(owner: edge, type: .dname, ttlSeconds: 60, data: zone.wire)
        let own = ResourceRecord(owner: question.name, type: .dname, ttlSeconds: 60, data: edge.wire)
        for records in [
            [made], [made, made, alias, address], [alias, made, address], [alias, address, made],
            [other, alias, address],
            [made, address], [ofOthers, alias, address], [own, alias, address],
        ] {
            let rendered = RenderedAnswer(Answer(records: records), to: question)
            #expect(reread(rendered) == nil, "\(records.map { "\($0.owner) \($0.type)" })")
        }
    }

    @Test("no DNAME record leads on from the last name of a negative answer")
    func leadsOn() throws {
        let inner = try #require(Name("x.example.com"))
        let redirection = ResourceRecord(owner: zone, type: .dname, ttlSeconds: 60, data: inner.wire)
        let alias = ResourceRecord(
            owner: question.name, alias: try #require(Name("www.x.example.com")), ttlSeconds: 60)
        #expect(reread(RenderedAnswer(Answer(negative: .noData, chain: [redirection, alias]), to: question)) == nil)
    }

    @Test("other types, ANY, the root and the longest answer are read back as they were written")
    func otherTypes() throws {
        let many = (0..<6_000).map {
            ResourceRecord(owner: question.name, address: .v4(UInt32($0)), ttlSeconds: 1)
        }
        let mail = ResourceRecord(owner: question.name, type: .mx, ttlSeconds: 9, data: [0, 10] + edge.wire)
        let text = ResourceRecord(owner: question.name, type: .txt, ttlSeconds: 9, data: [0xC0, 0xFF, 0])
        let alias = ResourceRecord(owner: question.name, alias: edge, ttlSeconds: 9)
        let nameserver = ResourceRecord(owner: .root, type: .ns, ttlSeconds: 6, data: edge.wire)
        for (type, name, records) in [
            (RecordType.a, question.name, many), (.mx, question.name, [mail]), (.txt, question.name, [text]),
            (.any, question.name, [mail, alias, text]), (.cname, question.name, [alias]), (.ns, .root, [nameserver]),
        ] {
            let question = Question(name, type)
            let rendered = RenderedAnswer(Answer(records: records), to: question)
            #expect(reread(rendered, to: question) == rendered, "\(question)")
        }
    }

    @Test("no cut of a body is an answer")
    func cuts() {
        for sample in samples {
            let rendered = RenderedAnswer(sample, to: question)
            for count in 0..<rendered.body.count {
                #expect(reread(rendered, body: Array(rendered.body.prefix(count))) == nil)
            }
            #expect(reread(rendered, body: rendered.body + [0]) == nil)
        }
    }

    @Test("counts, code and question must agree with the records")
    func disagreement() throws {
        let other = Question(try #require(Name("www.example.org")), .a)
        for sample in samples {
            let rendered = RenderedAnswer(sample, to: question)
            #expect(reread(rendered, answers: rendered.answerCount + 1) == nil)
            #expect(reread(rendered, authorities: rendered.authorityCount + 1) == nil)
            #expect(reread(rendered, answers: .max, authorities: .max) == nil)
            #expect(reread(rendered, code: .serverFailure) == nil)
        }
        let addresses = RenderedAnswer(samples[0], to: question)
        #expect(reread(addresses, code: .noSuchName) == nil)
        #expect(reread(addresses, to: Question(question.name, .aaaa)) == nil)
        #expect(reread(RenderedAnswer(samples[2], to: question), to: other) == nil)
        let both = RenderedAnswer(samples[0], to: question)
        let withAuthority = both.body + RenderedAnswer(samples[3], to: question).body
        #expect(reread(both, body: withAuthority, authorities: 1) == nil, "records and an authority")
    }

    @Test("an owner leads to the question or to a target before it, and nowhere else")
    func pointers() {
        let rendered = RenderedAnswer(samples[0], to: question)
        for target in UInt16(0)...0x3FFF where target != 12 {
            var body = rendered.body
            body[0] = 0xC0 | UInt8(target >> 8)
            body[1] = UInt8(target & 0xFF)
            #expect(reread(rendered, body: body) == nil, "to \(target)")
        }
    }

    @Test("whatever one byte becomes, what is read as an answer is one to a second reader")
    func everyByte() throws {
        let packet = QueryPacket(question.name, question.type)
        for sample in samples {
            let rendered = RenderedAnswer(sample, to: question)
            for at in rendered.body.indices {
                let old = rendered.body[at]
                for value in (0..<8).map({ old ^ 1 << $0 }) + [0, 1, 5, 6, 12, 28, 63, 64, 0xC0, 0xFF, old &+ 1] {
                    var body = rendered.body
                    body[at] = value
                    guard let read = reread(rendered, body: body) else { continue }
                    let answer = try UpstreamReply.answer(in: reply(read, to: packet), to: question, id: packet.id)
                    let isSame =
                        Set(answer.addresses) == Set(read.addresses)
                        && (answer.authority == nil) == (read.authorityCount == 0)
                    #expect(isSame, "\(at) is \(value)")
                }
            }
        }
    }

    @Test("a chain that goes in a circle or is too long is refused")
    func circles() throws {
        let there = ResourceRecord(owner: question.name, alias: edge, ttlSeconds: 60)
        let back = ResourceRecord(owner: edge, alias: question.name, ttlSeconds: 60)
        for chain in [[there, back], [ResourceRecord(owner: question.name, alias: question.name, ttlSeconds: 1)]] {
            #expect(reread(RenderedAnswer(Answer(negative: .noData, chain: chain), to: question)) == nil)
        }
        let names = try [question.name] + (1...33).map { try #require(Name("n\($0).example")) }
        let links = zip(names, names.dropFirst()).map { ResourceRecord(owner: $0, alias: $1, ttlSeconds: 60) }
        let longest = RenderedAnswer(Answer(negative: .noData, chain: Array(links.prefix(32))), to: question)
        #expect(reread(longest) == longest)
        #expect(reread(RenderedAnswer(Answer(negative: .noData, chain: links), to: question)) == nil)
    }

    @Test("random bytes are refused or read, never fatal", arguments: 0..<5)
    func randomBytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = RenderedAnswer(
                verifying: bytes, answerCount: UInt16.random(in: 0...4, using: &random),
                authorityCount: UInt16.random(in: 0...2, using: &random), responseCode: .noError, isCut: false,
                to: question)
        }
    }

    private func reply(_ rendered: RenderedAnswer, to packet: QueryPacket) -> [UInt8] {
        let asked = packet.bytes
        guard case .query(let query) = Query.receive(asked.span) else { return [] }
        return [UInt8](capacity: 65_535) { output in
            Reply.write(
                Reply.Body(rendered), to: query, in: asked.span, ageSeconds: 0, limit: 65_535, into: &output)
        }
    }
}
