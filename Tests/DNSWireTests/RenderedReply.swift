// Answers written as replies and read back, for the tests of writer and reader.

import DNSWire
import TestSupport

enum RenderedReply {
    struct NotAQuery: Error {}

    /// The reply's bytes; the output has room for `limit` and no byte more.
    static func bytes(
        _ answer: Answer, to packet: QueryPacket, ageSeconds: UInt32 = 0, limit: Int = 65_535,
        extendedError: ExtendedError? = nil
    ) throws -> [UInt8] {
        let asked = packet.bytes
        guard case .query(let query) = Query.receive(asked.span) else {
            throw NotAQuery()
        }
        let rendered = RenderedAnswer(answer, to: packet.question)
        return [UInt8](capacity: limit) { output in
            Reply.write(
                Reply.Body(rendered), to: query, in: asked.span, ageSeconds: ageSeconds, limit: limit,
                extendedError: extendedError, into: &output)
        }
    }

    static func message(
        _ answer: Answer, to packet: QueryPacket, ageSeconds: UInt32 = 0, limit: Int = 65_535,
        extendedError: ExtendedError? = nil
    ) throws -> DecodedMessage {
        try DecodedMessage(
            bytes(answer, to: packet, ageSeconds: ageSeconds, limit: limit, extendedError: extendedError))
    }
}

extension ResourceRecord {
    /// The record that the second reader must find.
    func decoded(ageSeconds: UInt32 = 0) -> DecodedMessage.Record {
        DecodedMessage.Record(
            owner: owner.wire, type: type.rawValue, recordClass: 1,
            ttl: ttlSeconds > ageSeconds ? ttlSeconds - ageSeconds : 0, data: data)
    }
}

extension Answer {
    /// `count` consecutive addresses from 192.0.2.0 on; they may leave that network.
    static func addresses(of name: Name, count: Int, ttlSeconds: UInt32 = 300) -> Answer {
        Answer(
            records: (0..<count).map {
                ResourceRecord(owner: name, address: .v4(0xC000_0200 + UInt32($0)), ttlSeconds: ttlSeconds)
            })
    }
}
