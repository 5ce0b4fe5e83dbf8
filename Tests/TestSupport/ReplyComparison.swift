// Compares what the program makes of an upstream's reply with the second reading: the parsed answer, and the bytes that
// a client gets from the writer, the cache and the store.

package import DNSWire

package struct ReplyComparison: ~Copyable {
    /// The result for one reply.
    package struct Finding: Sendable {
        /// "records", "noData", "noSuchName", or the refusal in words.
        package let outcome: String
        /// The first difference to the second reading; nil: none.
        package let difference: String?
    }

    private var stand: ServingStand

    package init() {
        stand = ServingStand(limitBytes: 32 << 20)
    }

    /// Reads a reply to the question in both ways.
    package mutating func finding(_ message: [UInt8], _ question: Question, id: UInt16) -> Finding {
        let asked = ReplyOracle.Asked(
            name: question.name.wire, type: question.type.rawValue, id: id,
            wantsSignatures: question.dnssec.contains(.dnssecOK))
        let reading = ReplyOracle.read(message, asked)
        let told = ReplyOracle.extendedError(message)
        do throws(UpstreamReplyError) {
            let answer = try UpstreamReply.answer(in: message, to: question, id: id, trustsAuthenticData: true)
            guard case .answer(let content) = reading else {
                return Finding(outcome: "\(answer.kind)", difference: "an answer, wanted: \(reading)")
            }
            let difference =
                ReplyComparison.parsed(answer, content) ?? ReplyComparison.told(answer.remark, told)
                ?? served(answer, to: question, content)
            return Finding(outcome: "\(answer.kind)", difference: difference)
        } catch {
            let words = ReplyComparison.words(error)
            var difference = reading == .refusal(words) ? nil : "refused as \(words), wanted: \(reading)"
            // Without a question the rest is not read.
            if case .serverFailure(_, let remark) = error, message[5] == 1, difference == nil {
                difference = ReplyComparison.told(remark, told)
            }
            return Finding(outcome: words, difference: difference)
        }
    }

    /// Returns the first difference between an answer and what clients get of it; nil: none.
    package mutating func difference(of answer: Answer, to question: Question) -> String? {
        served(
            answer, to: question,
            ReplyOracle.Content(
                isNoSuchName: answer.kind == .noSuchName, hasFinalRecord: answer.kind == .records,
                answers: answer.records.map(ReplyComparison.record),
                authorities: answer.authorities.map(ReplyComparison.record), ttl: answer.ttlSeconds,
                isAuthentic: answer.isAuthentic))
    }

    // MARK: the parsed answer

    private static func parsed(_ answer: Answer, _ content: ReplyOracle.Content) -> String? {
        let kind: Answer.Kind = content.isNoSuchName ? .noSuchName : content.hasFinalRecord ? .records : .noData
        guard answer.kind == kind else { return "\(answer.kind), wanted \(kind)" }
        guard answer.records.map(record) == content.answers else {
            return "answers \(answer.records), wanted \(content.answers)"
        }
        guard answer.authorities.map(record) == content.authorities else {
            return "authorities \(answer.authorities), wanted \(content.authorities)"
        }
        guard answer.ttlSeconds == content.ttl else { return "TTL \(answer.ttlSeconds), wanted \(content.ttl)" }
        return answer.isAuthentic == content.isAuthentic ? nil : "AD \(answer.isAuthentic)"
    }

    /// Compares the extended error. Texts that the program cleans or cuts are compared elsewhere.
    private static func told(_ remark: ExtendedError?, _ wanted: (code: UInt16, text: [UInt8])?) -> String? {
        guard let wanted else { return remark.map { "extended error \($0)" } }
        guard remark?.code == wanted.code else { return "extended error \(String(describing: remark)), not \(wanted)" }
        let isPlain = wanted.text.count <= ExtendedError.maxUpstreamTextBytes && wanted.text.allSatisfy(isPrintable)
        guard isPlain else { return nil }
        return remark?.text.utf8.elementsEqual(wanted.text) ?? false ? nil : "text of an extended error"
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { 0x20...0x7E ~= byte }

    private static func words(_ error: UpstreamReplyError) -> String {
        switch error {
        case .foreign(let why): "foreign \(why)"
        case .truncated: "truncated"
        case .serverFailure(let code, _): "serverFailure \(code.rawValue)"
        case .lame: "lame"
        case .malformed(let message): "malformed \(message.reason)"
        }
    }

    private static func record(_ record: ResourceRecord) -> DecodedMessage.Record {
        DecodedMessage.Record(
            owner: record.owner.wire, type: record.type.rawValue, recordClass: 1, ttl: record.ttlSeconds,
            data: record.data)
    }

    // MARK: the bytes

    private mutating func served(_ answer: Answer, to question: Question, _ content: ReplyOracle.Content) -> String? {
        let rendered = RenderedAnswer(answer, to: question)
        let age = min(content.ttl - min(content.ttl, 1), 1000)
        guard let written = ReplyComparison.written(rendered, to: question, age: age) else { return "no query" }
        return ReplyComparison.difference(written, content, age: age)
            ?? ReplyComparison.errorDifference(written, answer.remark) ?? fromCache(answer, question, written, age: age)
            ?? ReplyComparison.fromStore(rendered, answer, question)
    }

    private static func query(_ question: Question) -> [UInt8] {
        var packet = QueryPacket(
            question.name, question.type, payloadSize: 1232,
            optionFlags: question.dnssec.contains(.dnssecOK) ? 0x8000 : 0)
        // RD, and AD: the client reads AD.
        packet.flags = question.dnssec.contains(.checkingDisabled) ? 0x0130 : 0x0120
        return packet.bytes
    }

    private static func written(_ answer: RenderedAnswer, to question: Question, age: UInt32) -> [UInt8]? {
        let packet = query(question)
        guard case .query(let query) = Query.receive(packet.span, over: .tcp) else { return nil }
        return [UInt8](capacity: StreamFraming.maxMessageBytes) { output in
            Reply.write(
                Reply.Body(answer), to: query, in: packet.span, ageSeconds: age, limit: StreamFraming.maxMessageBytes,
                into: &output)
        }
    }

    /// Reads the bytes of a reply with the second parser.
    private static func difference(_ reply: [UInt8], _ content: ReplyOracle.Content, age: UInt32) -> String? {
        guard let message = try? DecodedMessage(reply) else { return "an unreadable reply" }
        guard message.responseCode == (content.isNoSuchName ? 3 : 0) else { return "code \(message.responseCode)" }
        guard message.authenticData == content.isAuthentic else { return "AD \(message.authenticData) in the reply" }
        let answers = content.answers.map { aged($0, age) }
        let authorities = content.authorities.map { aged($0, age) }
        if message.isTruncated {
            // No message can hold all records uncompressed.
            return reply.count > 32_768
                && message.answers.count + message.authorities.count
                    < answers.count + authorities.count
                ? nil : "truncated at \(reply.count) bytes"
        }
        guard same(message.answers, answers) else { return "answers \(message.answers), wanted \(answers)" }
        guard same(message.authorities, authorities) else {
            return "authorities \(message.authorities), wanted \(authorities)"
        }
        return nil
    }

    private static func errorDifference(_ reply: [UInt8], _ remark: ExtendedError?) -> String? {
        guard let message = try? DecodedMessage(reply), !message.isTruncated else { return nil }
        let wanted = remark.map { error -> [UInt8] in
            let text = Array(error.text.utf8)
            return [0, 15, 0, UInt8(2 + text.count), UInt8(error.code >> 8), UInt8(error.code & 0xFF)] + text
        }
        let found = message.optionRecord?.data
        return found == wanted ?? [] ? nil : "options \(found ?? []), wanted \(wanted ?? [])"
    }

    private static func aged(_ record: DecodedMessage.Record, _ age: UInt32) -> DecodedMessage.Record {
        record.with(ttl: record.ttl - min(record.ttl, age))
    }

    /// Compares records; an owner takes the letter case of an earlier name to which it points.
    private static func same(_ one: [DecodedMessage.Record], _ other: [DecodedMessage.Record]) -> Bool {
        one.count == other.count
            && zip(one, other).allSatisfy { left, right in
                left.owner.isSameName(as: right.owner) && left.type == right.type && left.recordClass == 1
                    && left.ttl == right.ttl && left.data == right.data
            }
    }

    /// The cache gives the same bytes. It has no answers without a TTL, and ANY is answered without it (RFC 8482).
    private mutating func fromCache(
        _ answer: Answer, _ question: Question, _ written: [UInt8], age: UInt32
    ) -> String? {
        guard answer.ttlSeconds > 0, question.type != .any else { return nil }
        stand.keep(answer, for: question)
        let asked = stand.ask(ReplyComparison.query(question), atSeconds: Double(age), over: .tcp)
        return asked.reply == written ? nil : "\(asked.outcome) from the cache, with other bytes"
    }

    /// Whether a name has two DNAME records, which no zone has (RFC 6672 section 2.4). The store may refuse such an
    /// answer: it does not know which of them the upstream listed first.
    private static func hasTwoRedirections(_ answer: Answer) -> Bool {
        let owners = answer.records.filter { $0.type == .dname }.map(\.owner)
        return Set(owners).count < owners.count
    }

    /// Listings and the store read the rendered bytes back. The store has no signed answers.
    private static func fromStore(_ rendered: RenderedAnswer, _ answer: Answer, _ question: Question) -> String? {
        guard !rendered.isCut else { return nil }
        guard (try? rendered.records(of: question)) == answer.records + answer.authorities else {
            return "other records in a listing"
        }
        guard question.dnssec.isEmpty, !hasTwoRedirections(answer) else { return nil }
        let stored = RenderedAnswer(
            verifying: rendered.body, answerCount: rendered.answerCount, authorityCount: rendered.authorityCount,
            responseCode: rendered.responseCode, isCut: false, extendedError: rendered.extendedError, to: question)
        guard let stored else { return "the store refuses the answer" }
        return stored.ttlOffsets == rendered.ttlOffsets && stored.isNegative == rendered.isNegative
            && stored.errorOption == rendered.errorOption
            ? nil : "the store reads another answer"
    }
}
