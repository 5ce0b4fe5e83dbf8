// Parses a nameserver's or DoH server's reply into an `Answer`. Verifies id and question first, and keeps only
// records that belong to the question.

package enum UpstreamReplyError: Error, Equatable, Sendable {
    /// Not a reply to this query, possibly forged: ignore it and keep waiting.
    case foreign(ForeignReply)
    /// TC=1: retry over TCP. Over TCP and HTTP it is a failure.
    case truncated
    /// The server returned an error code: ask the next server.
    case serverFailure(ResponseCode, ExtendedError? = nil)
    /// A referral, as from a non-recursive server: ask the next server.
    case lame
    /// The question matches, but the rest is unreadable: ask the next server.
    case malformed(MalformedMessage)
}

/// Why a message is not a reply to the query.
package enum ForeignReply: String, Sendable, CaseIterable {
    case short, notReply, opcode, id, question
}

package enum UpstreamReply {
    /// Limit over all sections. The largest legitimate replies have a few hundred records; 64 KiB can hold 5,900.
    package static let maxRecords = 1024
    /// The largest TTL, which has 31 bits (RFC 2181 section 8).
    package static let maxTTLSeconds: UInt32 = 0x7FFF_FFFF

    /// - Parameters:
    ///   - message: a datagram, the content of a TCP frame, or a DoH body, of any length.
    ///   - trustsAuthenticData: AD is copied from this server: its channel is authenticated, and the operator trusts it
    ///     to validate (RFC 4035 section 4.9.3).
    /// - Records of other classes, owners and types are dropped. A TTL with the top bit set counts as the
    ///   largest (RFC 8767 section 4). The SOA record gives the TTL of a negative answer (RFC 2308 section 5).
    /// - Bytes after the last record are ignored, since some home routers send them.
    package static func answer(
        in message: [UInt8], to question: Question, id: UInt16, trustsAuthenticData: Bool = false
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
            var answer = try judge(sections, chain, code)
            if question.dnssec.contains(.dnssecOK) {
                answer = answer.whole(
                    sections.answers.filter { chain.concerns($0, question) },
                    sections.authorities.filter { isComplete($0, with: answer.authority) })
            }
            if trustsAuthenticData, header.isAuthentic { answer = answer.authenticated(true) }
            return sections.extendedError == nil ? answer : answer.remarked(sections.extendedError)
        default: throw .serverFailure(code, sections.extendedError)
        }
    }

    /// Checks the question section: name without regard to case, type, class IN.
    private static func repeats(_ question: Question, _ cursor: inout ByteCursor) -> Bool {
        do throws(MalformedMessage) {
            if !cursor.skip(question.name), try cursor.readName() != question.name { return false }
            let type = RecordType(rawValue: try cursor.readBigEndian16())
            let recordClass = try cursor.readBigEndian16()
            return type == question.type && recordClass == Query.classIN
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
            return Answer(records: chain.links.isEmpty ? chain.records : chain.links + chain.records)
        }
        // An answer for other names is an upstream failure, never proof of NODATA.
        guard !sections.saysAnything || !chain.links.isEmpty else {
            throw .malformed(MalformedMessage(offset: sections.answersOffset, reason: .unrelatedRecords))
        }
        // A SOA record of an unrelated zone does not apply to this name.
        let authority = sections.authorities.first { $0.type == .soa && chain.end.isWithin($0.owner) }
        if code == .noError, authority == nil, sections.hasNameservers { throw .lame }
        return Answer(
            negative: code == .noError ? .noData : .noSuchName, chain: chain.links, authority: authority)
    }

    /// Returns false for a signature over records that the answer does not have: unbound takes it for an RRset that
    /// lacks a signature.
    private static func isComplete(_ proof: ResourceRecord, with authority: ResourceRecord?) -> Bool {
        guard proof.type == .rrsig else { return proof.type.isProof }
        guard let covered = proof.coveredType else { return false }
        return covered == .soa ? authority?.owner == proof.owner : covered.isProof
    }

    /// A server that cannot parse OPT may return only its header (RFC 6891 section 7).
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
