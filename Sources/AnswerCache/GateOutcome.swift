// Rate limit and cookie of a remote client, before any lookup. Separate from `FastPath.respond`, because local
// clients skip it.

import DNSWire

extension FastPath {
    /// Applies limit and cookie. Nil: processing continues with `reception`, which has the reply's cookie.
    @inline(never) @_lifetime(output: copy output)
    mutating func atGate(
        _ reception: inout Query.Reception, _ packet: Span<UInt8>, _ client: Address, _ nowMilliseconds: Int64,
        isStream: Bool, into output: inout OutputSpan<UInt8>
    ) -> Outcome? {
        var query: Query
        let rejection: ResponseCode?
        switch reception {
        case .drop: return nil
        case .query(let received): (query, rejection) = (received, nil)
        case .rejection(let rejected, let code): (query, rejection) = (rejected, code)
        }
        guard let gate else { return nil }
        let isAllowed = access.allows(client)
        let proof = gate.proof(of: query, in: packet, from: client, nowMilliseconds: nowMilliseconds)
        // A client that is not allowed gets no cookie.
        query.replyCookie = isAllowed ? proof.replyCookie : nil
        if !isStream {
            let verdict = gate.judge(
                client, isAllowed: isAllowed, isProven: proof.isValid, nowMilliseconds: nowMilliseconds)
            switch verdict {
            case .admitted: break
            case .over where isAllowed:
                if rejection != nil || proof == .malformed { break }
                return limit(query, packet, proof, into: &output)
            case .over, .farOver: return .dropped(.rateLimited)
            }
        }
        if proof == .malformed {
            reception = .rejection(query, .formatError)
        } else if let rejection {
            guard isAllowed, query.isForCookie(in: packet, rejection) else {
                reception = .rejection(query, rejection)
                return nil
            }
            return giveCookie(query, packet, proof, into: &output)
        } else {
            reception = .query(query)
        }
        return nil
    }

    /// A client with cookie support retries with this one; others retry over TCP (RFC 7873 section 5.2.3).
    @_lifetime(output: copy output)
    private mutating func limit(
        _ query: Query, _ packet: Span<UInt8>, _ proof: CookieKeys.Proof, into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        remark = nil
        if case .missing = proof {
            Reply.write(code: .badCookie, to: query, in: packet, into: &output)
            return .limited(.badCookie)
        }
        var query = query
        // The client has a valid cookie; the reply stays as short as possible.
        query.replyCookie = nil
        Reply.writeTruncated(to: query, in: packet, into: &output)
        return .limited(.noError)
    }

    /// RFC 7873 section 5.4.
    @_lifetime(output: copy output)
    private mutating func giveCookie(
        _ query: Query, _ packet: Span<UInt8>, _ proof: CookieKeys.Proof, into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        remark = nil
        if case .missing(_, hadServerCookie: true) = proof {
            Reply.write(code: .badCookie, to: query, in: packet, into: &output)
            return .refused(.badCookie)
        }
        Reply.write(code: .noError, to: query, in: packet, into: &output)
        return .local
    }
}

extension Query {
    /// True for a query without a question that has only an OPT record with a cookie.
    fileprivate func isForCookie(in packet: Span<UInt8>, _ rejection: ResponseCode) -> Bool {
        guard rejection == .formatError, replyCookie != nil, let header = Header(packet) else { return false }
        return header.questionCount == 0 && header.answerCount == 0 && header.authorityCount == 0
            && header.additionalCount == 1
    }
}
