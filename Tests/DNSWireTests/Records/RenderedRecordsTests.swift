// Rendered records are read back unchanged.

import DNSWire
import Testing

@Suite("Rendered records")
struct RenderedRecordsTests {
    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    @Test("an alias chain with addresses comes back as it was, names uncompressed")
    func chain() throws {
        let (www, host) = (try name("www.example.com"), try name("host.cdn.example.net"))
        let address = try #require(Address("192.0.2.1"))
        let records = [
            ResourceRecord(owner: www, alias: host, ttlSeconds: 300),
            ResourceRecord(owner: host, address: address, ttlSeconds: 60),
        ]
        let question = Question(www, .a)
        let rendered = RenderedAnswer(Answer(records: records), to: question)
        #expect(try rendered.records(of: question) == records)
    }

    @Test("a negative answer comes back as its SOA record, and one without as nothing")
    func negative() throws {
        let zone = try name("example.com")
        let data = zone.wire + zone.wire + [UInt8](repeating: 0, count: 16) + [0, 0, 0, 30]
        let authority = ResourceRecord(owner: zone, type: .soa, ttlSeconds: 30, data: data)
        let question = Question(try name("none.example.com"), .aaaa)
        let proven = RenderedAnswer(Answer(negative: .noSuchName, authority: authority), to: question)
        #expect(try proven.records(of: question) == [authority])
        #expect(try RenderedAnswer(Answer(negative: .noData), to: question).records(of: question) == [])
    }

    @Test("records of types without a layout keep their bytes")
    func opaque() throws {
        let question = Question(try name("example.com"), RecordType(rawValue: 4711))
        let record = ResourceRecord(owner: question.name, type: question.type, ttlSeconds: 5, data: [0xC0, 0x0C, 0])
        let rendered = RenderedAnswer(Answer(records: [record]), to: question)
        #expect(try rendered.records(of: question) == [record])
    }

    @Test("data that is not of its type is an error and not a crash")
    func wrongData() throws {
        let question = Question(try name("example.com"), .a)
        let record = ResourceRecord(owner: question.name, type: .a, ttlSeconds: 5, data: [1, 2, 3])
        let rendered = RenderedAnswer(Answer(records: [record]), to: question)
        #expect(throws: MalformedMessage.self) { try rendered.records(of: question) }
    }

    @Test("a scope contains the name alone or all under it, of one type or of all, whatever the case")
    func scope() throws {
        let (zone, www) = (try name("example.com"), try name("WWW.Example.COM"))
        let other = try name("wwwexample.com")
        #expect(QuestionScope(zone).contains(Question(zone, .a)))
        #expect(!QuestionScope(zone).contains(Question(www, .a)))
        #expect(QuestionScope(zone, includesDescendants: true).contains(Question(www, .mx)))
        #expect(QuestionScope(zone, includesDescendants: true).contains(Question(zone, .mx)))
        #expect(!QuestionScope(zone, includesDescendants: true).contains(Question(other, .a)))
        #expect(QuestionScope(zone, type: .a).contains(Question(zone, .a)))
        #expect(!QuestionScope(zone, type: .a).contains(Question(zone, .aaaa)))
        #expect(QuestionScope.everything.contains(Question(other, .txt)))
        #expect(QuestionScope.everything.contains(Question(.root, .ns)))
    }
}
