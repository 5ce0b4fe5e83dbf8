// Signed answers byte by byte: the records that clients with and without DO get, and the AD flag.

import DNSWire
import TestSupport
import Testing

struct SignedAnswerTests {
    private let zone: Name
    private let name: Name
    private static let id: UInt16 = 7

    init() throws {
        zone = try #require(Name("example.com"))
        name = try #require(Name("www.example.com"))
    }

    private func record(_ owner: Name, _ type: RecordType, ttl: UInt32 = 300, _ data: [UInt8] = []) -> ResourceRecord {
        ResourceRecord(owner: owner, type: type, ttlSeconds: ttl, data: data)
    }

    private func signature(_ owner: Name, of type: RecordType, ttl: UInt32 = 300) -> ResourceRecord {
        record(
            owner, .rrsig, ttl: ttl,
            [UInt8(type.rawValue >> 8), UInt8(type.rawValue & 0xFF)] + Array(repeating: 9, count: 40))
    }

    private func address(_ owner: Name) -> ResourceRecord {
        ResourceRecord(owner: owner, address: .v4(0xC000_0207), ttlSeconds: 300)
    }

    private var startOfAuthority: ResourceRecord {
        record(zone, .soa, zone.wire + zone.wire + Array(repeating: 0, count: 18) + [1, 44])
    }

    /// An uncompressed reply message.
    private func message(
        to question: Question, _ answers: [ResourceRecord], authority: [ResourceRecord] = [], flags: UInt16 = 0x8180
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        func pair(_ value: UInt16) { bytes += [UInt8(value >> 8), UInt8(value & 0xFF)] }
        for value in [Self.id, flags, 1, UInt16(answers.count), UInt16(authority.count), 0] { pair(value) }
        bytes += question.name.wire
        pair(question.type.rawValue)
        pair(1)
        for record in answers + authority {
            bytes += record.owner.wire
            pair(record.type.rawValue)
            pair(1)
            pair(UInt16(record.ttlSeconds >> 16))
            pair(UInt16(record.ttlSeconds & 0xFFFF))
            pair(UInt16(record.data.count))
            bytes += record.data
        }
        return bytes
    }

    private func parsed(_ message: [UInt8], _ question: Question, trusts: Bool = false) throws -> Answer {
        try UpstreamReply.answer(in: message, to: question, id: Self.id, trustsAuthenticData: trusts)
    }

    @Test("an upstream query has DO and CD as the question has them, and reads back so", arguments: DNSSECBits.all)
    func query(bits: DNSSECBits) {
        let packet = UpstreamQuery.message(for: Question(name, .a, dnssec: bits), id: Self.id)
        guard case .query(let query) = Query.receive(packet.span) else {
            Issue.record("no query")
            return
        }
        #expect(query.question(in: packet.span, from: .all) == Question(name, .a, dnssec: bits))
        #expect(packet[3] == (bits.contains(.checkingDisabled) ? 0x10 : 0))
    }

    @Test("a query for AD has AD (RFC 6840 section 5.7)")
    func authenticDataIsAskedFor() {
        let packet = UpstreamQuery.message(for: Question(name, .a), id: Self.id, wantsAuthenticData: true)
        #expect(packet[3] == 0x20)
    }

    @Test("with DO, signatures and proofs stay; without, the records alone")
    func positive() throws {
        let answers = [address(name), signature(name, of: .a)]
        let proofs = [record(zone, .nsec, [1]), signature(zone, of: .nsec, ttl: 100)]
        // A signature without its records makes validators refuse the message.
        let dropped = [record(zone, .ns, zone.wire), signature(zone, of: .ns), signature(zone, of: .soa)]
        let question = Question(name, .a)
        let bytes = message(to: question, answers, authority: dropped + proofs)
        let signed = try parsed(bytes, question.with(.dnssecOK))
        #expect(
            signed.records == answers && signed.authorities == proofs && signed.isSigned && signed.ttlSeconds == 100)
        let plain = try parsed(bytes, question)
        #expect(
            plain.records == [answers[0]] && plain.authorities.isEmpty && !plain.isSigned && plain.ttlSeconds == 300)
    }

    @Test("a denial has the SOA record, its signature, and the proofs, all counted down")
    func negative() throws {
        let proofs = [signature(zone, of: .soa), record(zone, .nsec3, [1]), signature(zone, of: .nsec3)]
        let question = Question(name, .a, dnssec: .dnssecOK)
        let bytes = message(to: question, [], authority: [startOfAuthority] + proofs, flags: 0x8183)
        let answer = try parsed(bytes, question)
        #expect(answer.kind == .noSuchName && answer.authorities == [startOfAuthority] + proofs)
        let packet = QueryPacket(name, .a, payloadSize: 1232, optionFlags: 0x8000)
        let reply = try RenderedReply.message(answer, to: packet, ageSeconds: 100)
        #expect(reply.authorities == ([startOfAuthority] + proofs).map { $0.decoded(ageSeconds: 100) })
        #expect(reply.optionRecord?.ttl == 0x8000)
    }

    @Test("records of other owners and types are dropped; a DNAME record that makes a link stays")
    func relevance() throws {
        let other = try #require(Name("other.example"))
        let target = try #require(Name("www.example.net"))
        let alias = ResourceRecord(owner: name, alias: target, ttlSeconds: 300)
        let dname = record(zone, .dname, try #require(target.parent).wire)
        let kept = [dname, signature(zone, of: .dname), alias, address(target), signature(target, of: .a)]
        let others = [
            address(other), signature(other, of: .a), record(target, .txt, [0]), signature(target, of: .txt),
            record(target, .rrsig, [0]),
        ]
        let question = Question(name, .a, dnssec: .dnssecOK)
        #expect(try parsed(message(to: question, others + kept), question).records == kept)
    }

    @Test("a DNAME record above the name that makes no link is dropped with its signature")
    func redirectionOfOthers() throws {
        let target = try #require(Name("example.net"))
        let kept = [address(name), signature(name, of: .a)]
        let others = [record(zone, .dname, target.wire), signature(zone, of: .dname)]
        let question = Question(name, .a, dnssec: .dnssecOK)
        #expect(try parsed(message(to: question, others + kept), question).records == kept)
    }

    @Test("AD is copied from a trusted upstream only, for clients that set AD or DO (RFC 6840 section 5.8)")
    func authenticData() throws {
        let question = Question(name, .a)
        let bytes = message(to: question, [address(name)], flags: 0x81A0)
        #expect(try !parsed(bytes, question).isAuthentic)
        let trusted = try parsed(bytes, question, trusts: true)
        #expect(trusted.isAuthentic)
        #expect(try !parsed(message(to: question, [address(name)]), question, trusts: true).isAuthentic)
        var clients = [(QueryPacket(name, .a), false), (QueryPacket(name, .a, payloadSize: 1232), false)]
        clients.append((QueryPacket(name, .a, payloadSize: 1232, optionFlags: 0x8000), true))
        var reader = QueryPacket(name, .a)
        reader.flags = 0x0120
        clients.append((reader, true))
        for (client, expected) in clients {
            let flags = try RenderedReply.message(trusted, to: client).flags
            #expect((flags & 0x20 != 0) == expected)
        }
        // A changed or expired answer does not count as authenticated by an upstream.
        #expect(!Answer(records: trusted.records).isAuthentic)
        #expect(!RenderedAnswer(trusted, to: question).withEveryTTL(30).isAuthentic)
        #expect(trusted.withTTL(to: 10).isAuthentic && trusted.remarked(nil).isAuthentic)
    }
}
