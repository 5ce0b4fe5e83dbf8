// What a nameserver or a DoH server replied, turned into an `Answer` to the question that was asked. Nothing in the
// reply is believed before its id and question are ours, and nothing that the question does not lead to is kept.

package enum UpstreamReplyError: Error, Equatable, Sendable {
    /// Not a reply to this query, forged perhaps: ignore it and keep waiting for the real one.
    case foreign(ForeignReply)
    /// TC=1: ask the same server over TCP. Over TCP and HTTP it is a failure.
    case truncated
    /// The server answered and has nothing for us: ask the next one.
    case serverFailure(ResponseCode, ExtendedError? = nil)
    /// A referral to other servers, as from one that does not recurse: ask the next one.
    case lame
    /// The question is ours and the rest cannot be read: ask the next server.
    case malformed(MalformedMessage)
}

/// Why a message is no reply to the query.
package enum ForeignReply: String, Sendable, CaseIterable {
    case short, notReply, opcode, id, question
}

package enum UpstreamReply {
    /// All sections together. The largest honest sets have a few hundred records; 64 KiB have room for 5,900.
    package static let maxRecords = 1024

    /// - Parameter message: a datagram, the content of a TCP frame, or a DoH body, of any length.
    /// - Records of other classes, owners and types are left out; a TTL with the top bit set is 0 (RFC 2181
    ///   section 8); a negative answer lives as its SOA record says (RFC 2308 section 5).
    /// - Bytes behind the last record are ignored: some home routers send them.
    package static func answer(
        in message: [UInt8], to question: Question, id: UInt16
    ) throws(UpstreamReplyError) -> Answer {
        let bytes = message.span
        let header = try verifiedHeader(bytes, id: id)
        var cursor = ByteCursor(bytes, from: Header.byteCount)
        guard repeats(question, &cursor) else { throw .foreign(.question) }
        guard !header.isTruncated else { throw .truncated }
        let sections: ReplySections
        let chain: AliasChain
        do throws(MalformedMessage) {
            sections = try ReplySections(&cursor, header, question)
            chain = try aliasChain(of: question, sections)
        } catch {
            throw .malformed(error)
        }
        let code = ResponseCode(rawValue: sections.extendedCode << 4 | header.responseCode)
        switch code {
        case .noError, .noSuchName:
            return try judge(sections, chain, code).remarked(sections.extendedError)
        default: throw .serverFailure(code, sections.extendedError)
        }
    }

    /// The question section must be ours: name without regard to case, type, class IN.
    private static func repeats(_ question: Question, _ cursor: inout ByteCursor) -> Bool {
        do throws(MalformedMessage) {
            let name = try cursor.readName()
            let type = RecordType(rawValue: try cursor.readBigEndian16())
            let recordClass = try cursor.readBigEndian16()
            return name == question.name && type == question.type && recordClass == Query.classIN
        } catch {
            return false
        }
    }

    private static func aliasChain(
        of question: Question, _ sections: ReplySections
    ) throws(MalformedMessage) -> AliasChain {
        do throws(AliasChain.Failure) {
            return try AliasChain(from: question, through: sections.answers)
        } catch {
            let reason: MalformedMessage.Reason =
                switch error {
                case .loop: .aliasLoop
                case .tooLong: .aliasChainTooLong
                }
            throw MalformedMessage(offset: sections.answersOffset, reason: reason)
        }
    }

    private static func judge(
        _ sections: ReplySections, _ chain: AliasChain, _ code: ResponseCode
    ) throws(UpstreamReplyError) -> Answer {
        guard chain.records.isEmpty else {
            guard code == .noError else {
                throw .malformed(MalformedMessage(offset: sections.answersOffset, reason: .contradiction))
            }
            return Answer(records: chain.links + chain.records)
        }
        // Somebody else's answer is a failure of the upstream, never proof that there is no data.
        guard !sections.saysAnything || !chain.links.isEmpty else {
            throw .malformed(MalformedMessage(offset: sections.answersOffset, reason: .unrelatedRecords))
        }
        // A SOA record from elsewhere says nothing about this name.
        let authority = sections.startsOfAuthority.first { chain.end.isWithin($0.owner) }
        if code == .noError, authority == nil, sections.hasNameservers { throw .lame }
        return Answer(
            negative: code == .noError ? .noData : .noSuchName, chain: chain.links, authority: authority)
    }

    /// A server that can't read OPT may send its header back and no more (RFC 6891 section 7).
    private static func questionless(_ header: Header) -> UpstreamReplyError {
        let code = ResponseCode(rawValue: header.responseCode)
        return header.questionCount == 0 && code.mayBeAboutEDNS ? .serverFailure(code) : .foreign(.question)
    }

    private static func verifiedHeader(_ bytes: Span<UInt8>, id: UInt16) throws(UpstreamReplyError) -> Header {
        guard let header = Header(bytes) else { throw .foreign(.short) }
        guard header.isReply else { throw .foreign(.notReply) }
        guard header.id == id else { throw .foreign(.id) }
        guard header.opcode == 0 else { throw .foreign(.opcode) }
        guard header.questionCount == 1 else { throw questionless(header) }
        return header
    }
}
