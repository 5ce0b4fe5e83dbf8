// Bytes from a nameserver or a DoH server. An accepted answer must be valid, and must survive the module's own writer.

import DNSWire

extension FuzzEntry {
    package static let upstreamReply = FuzzEntry(name: "UpstreamReply") { bytes in
        check(bytes, Question(host, .a), id: rawID)
        composed(bytes).map { check($0.message, $0.question, id: 0) }
    }

    /// The message ID of the unit tests' raw vectors.
    private static let rawID: UInt16 = 0x1234

    private static let host: Name = {
        guard let name = Name("www.example.com") else { preconditionFailure("the name is one") }
        return name
    }()

    /// Types with names in their data, types without, and ANY.
    private static let types: [UInt16] = [1, 28, 5, 6, 15, 16, 17, 24, 26, 30, 33, 35, 39, 65, 255]

    /// A message with a valid question, which random bytes rarely have: type, two bytes of flags, three counts,
    /// records.
    private static func composed(_ bytes: [UInt8]) -> (message: [UInt8], question: Question)? {
        guard bytes.count >= 6 else { return nil }
        let type = types[Int(bytes[0]) % types.count]
        let header: [UInt8] = [0, 0, bytes[1] | 0x80, bytes[2], 0, 1, 0, bytes[3], 0, bytes[4], 0, bytes[5]]
        let question = host.wire + [UInt8(type >> 8), UInt8(type & 0xFF), 0, 1]
        return (header + question + bytes[6...], Question(host, RecordType(rawValue: type)))
    }

    private static func check(_ message: [UInt8], _ question: Question, id: UInt16) {
        checkSigned(message, question.with(.dnssecOK), id: id)
        guard let answer = try? UpstreamReply.answer(in: message, to: question, id: id) else { return }
        var owner = question.name
        for record in answer.records {
            if record.type == .dname, owner != record.owner, owner.isWithin(record.owner) { continue }
            precondition(record.owner == owner, "each record belongs to the chain")
            precondition(!record.type.isAddress || record.address != nil, "an address record holds an address")
            if let target = record.aliasTarget, question.type != .cname, question.type != .any { owner = target }
        }
        precondition(answer.authority.map { owner.isWithin($0.owner) } ?? true, "the authority is the name's own")
        let rendered = RenderedAnswer(answer, to: question)
        guard Int(rendered.answerCount) == answer.records.count else { return }
        precondition(reread(rendered, question) == answer, "our reply says what the upstream's said")
    }

    private static func checkSigned(_ message: [UInt8], _ question: Question, id: UInt16) {
        guard let answer = try? UpstreamReply.answer(in: message, to: question, id: id) else { return }
        let rendered = RenderedAnswer(answer, to: question)
        guard !rendered.isCut else { return }
        precondition(reread(rendered, question) == answer, "our reply has all that the upstream's had")
    }

    private static func reread(_ rendered: RenderedAnswer, _ question: Question) -> Answer? {
        let packet = UpstreamQuery.message(for: question, id: 7)
        guard case .query(let query) = Query.receive(packet.span) else { return nil }
        let reply = [UInt8](capacity: StreamFraming.maxMessageBytes) { output in
            Reply.write(
                Reply.Body(rendered), to: query, in: packet.span, ageSeconds: 0,
                limit: StreamFraming.maxMessageBytes, into: &output)
        }
        return try? UpstreamReply.answer(in: reply, to: question, id: 7)
    }
}
