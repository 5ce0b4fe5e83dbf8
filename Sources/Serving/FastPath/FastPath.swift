// Answers a packet without the main thread if possible: from the cache, or by local policy. Takes one lock at most,
// allocates nothing for a hit, and reads no clock: the caller does so once per batch.

package import DNSWire
import LinuxIO

package struct FastPath: ~Copyable {
    private let cache: AnswerCache
    private let access: AccessList
    private let serving: ServingState
    private var views = ServingState.KnownViews()
    /// The rate limit; nil if the daemon listens on loopback only.
    private let gate: ClientRateLimit?
    private let version: String
    /// The key of the present packet; a stored property because a name has up to 255 bytes.
    private var key: AnswerKey
    /// The hashes of the announced queries.
    private var hashes: [UInt64] = []
    /// Extended error of the last reply that was refused or local; nil: none.
    package private(set) var remark: UInt16?

    /// The hash of the question that was looked up last.
    var hash: UInt64 { key.hash }

    package enum Outcome: Equatable, Sendable {
        /// A reply from the cache was written.
        case answered(ResponseCode)
        /// A reply from the cache was written: the first one for which the answer is due for a refresh.
        case answeredAndDue(ResponseCode, Question)
        /// A reply from the cache was written: the one for which `AnswerCache.awaitHit` set the mark.
        case answeredAwaited(ResponseCode, Question)
        /// A local reply was written: about the daemon (version.bind), to ANY, or AAAA without an IPv6 route.
        case local
        /// A refusal was written: client not allowed, query malformed, or not a stub resolver's query.
        case refused(ResponseCode)
        /// The client is over its limit. The reply tells it to retry over TCP, or with a cookie.
        case limited(ResponseCode)
        case dropped(Query.DropReason)
        /// Nothing was written: the answer has to be fetched.
        case miss(Query)
    }

    package init(
        cache: AnswerCache, access: AccessList, serving: ServingState, gate: ClientRateLimit? = nil, version: String
    ) {
        self.cache = cache
        self.access = access
        self.serving = serving
        self.gate = gate
        self.version = version
        key = AnswerKey(partition: serving.partition(for: .all))
        hashes.reserveCapacity(DatagramBatch.capacity)
    }

    /// Announces a query for the next `prefetch`.
    package mutating func announce(_ packet: Span<UInt8>) {
        guard let question = QuestionBounds(in: packet) else { return }
        // A query with DO or CD is looked up without prefetching.
        key.set(
            packet, from: Header.byteCount, count: question.nameBytes, type: question.type, dnssec: [],
            hashing: cache.hashing)
        hashes.append(key.hash)
    }

    /// Starts loading the cache entries of the announced queries.
    package mutating func prefetch() {
        cache.prefetch(hashes)
        hashes.removeAll(keepingCapacity: true)
    }

    /// - Parameters:
    ///   - output: empty output, with room for 65,535 bytes on a stream, else for `EDNS.ourPayloadBytes`.
    ///   - isCut: the end of the packet is missing: FORMERR, as for any unreadable message.
    @_lifetime(output: copy output)
    package mutating func respond(
        to packet: Span<UInt8>, from client: Address, over transport: Transport, nowMilliseconds: Int64,
        isCut: Bool = false, into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        let query: Query
        var reception = Query.receive(packet, over: transport, isCut: isCut)
        if gate != nil, !client.isLoopback,
            let outcome = atGate(&reception, packet, client, transport, nowMilliseconds, into: &output)
        {
            return outcome
        }
        switch reception {
        case .drop(let reason): return .dropped(reason)
        case .rejection(let rejected, let code):
            let isAllowed = access.allows(client)
            let finalCode = isAllowed ? code : .refused
            let extendedError = isAllowed ? rejected.extendedErrorOfRejection : .prohibited
            remark = extendedError?.code
            Reply.write(code: finalCode, to: rejected, in: packet, extendedError: extendedError, into: &output)
            return .refused(finalCode)
        case .query(let received): query = received
        }
        guard access.allows(client) else {
            remark = ExtendedError.prohibited.code
            Reply.write(code: .refused, to: query, in: packet, extendedError: .prohibited, into: &output)
            return .refused(.refused)
        }
        switch LocalPolicy(query, in: packet, serving) {
        // Refused queries were rejected above.
        case nil, .refused: break
        case .ownAnswer:
            remark = nil
            return OwnAnswer(query, in: packet, version: version)
                .write(to: query, in: packet, from: client, into: &output)
        case .filteredFamily:
            remark = ExtendedError.filteredFamily.code
            let answer = RenderedAnswer.filteredFamily
            Reply.write(
                Reply.Body(answer), to: query, in: packet, ageSeconds: 0, limit: EDNS.minPayloadBytes,
                extendedError: .filteredFamily, into: &output)
            return .local
        }
        return respond(to: query, in: packet, from: client, nowMilliseconds: nowMilliseconds, into: &output)
    }

    /// Answers a query from the cache, after all earlier checks.
    @_lifetime(output: copy output)
    package mutating func respond(
        to query: Query, in packet: Span<UInt8>, from client: Address, nowMilliseconds: Int64,
        into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        let group = group(of: client, hidesSubnet: query.hidesSubnet)
        key.partition = serving.partition(for: group)
        key.set(
            packet, from: Header.byteCount, count: query.nameBytes, type: query.type, dnssec: query.dnssec,
            hashing: cache.hashing)
        return cached(query, packet, group, limit: query.replyLimitBytes, nowMilliseconds, into: &output)
    }

    /// Returns the group of clients that shares answers with this one.
    package mutating func group(of client: Address, hidesSubnet: Bool = false) -> ClientGroup {
        serving.group(of: client, hidesSubnet: hidesSubnet, &views)
    }

    /// Looks up the provider's answer, and the system resolver's if there is no fresh one. Both are looked up under one
    /// lock.
    private mutating func cached(
        _ query: Query, _ packet: Span<UInt8>, _ group: ClientGroup, limit: Int, _ nowMilliseconds: Int64,
        into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        cache.withTable(key.hash) { table in
            for sourceClass in SourceClass.allCases {
                key.sourceClass = sourceClass
                guard let entry = table.find(key) else { continue }
                let freshness = table.freshness(entry, nowMilliseconds: nowMilliseconds, limits: FastPath.freshOnly)
                guard freshness.isGivenAtOnce else { continue }
                let code = table.withReplyBody(of: entry, nowMilliseconds: nowMilliseconds) { body, age in
                    Reply.write(body, to: query, in: packet, ageSeconds: age, limit: limit, into: &output)
                    return body.code
                }
                // A query with RD=0 is not demand: it causes no refresh and no probe.
                guard query.wantsRecursion else { return .answered(code) }
                table.countHit(entry)
                // A reply has a single outcome: the awaited mark stays for the next reply.
                if case .due = freshness, table.askForRefresh(entry) {
                    return .answeredAndDue(code, query.question(in: packet, from: group))
                }
                guard table.takeAwaited(entry) else { return .answered(code) }
                return .answeredAwaited(code, query.question(in: packet, from: group))
            }
            return .miss(query)
        }
    }

    /// Limits without stale answers. Only the resolver serves stale answers, because it asks the upstreams first.
    private static let freshOnly = Freshness.Limits(maxAgeSeconds: 0)
}

extension Freshness {
    /// Whether the cache serves the answer by itself; a provider's answer comes before the system resolver's.
    package var isGivenAtOnce: Bool {
        switch self {
        case .fresh, .due: true
        case .stale, .gone: false
        }
    }
}

// Rate limit and cookie of a remote client, before any lookup. Separate from `respond`, because local clients skip it.

extension FastPath {
    /// Applies limit and cookie. Nil: processing continues with `reception`, which has the reply's cookie.
    @inline(never) @_lifetime(output: copy output)
    private mutating func atGate(
        _ reception: inout Query.Reception, _ packet: Span<UInt8>, _ client: Address, _ transport: Transport,
        _ nowMilliseconds: Int64, into output: inout OutputSpan<UInt8>
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
        if !transport.provesAddress {
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

    /// Writes the reply to a client over its limit. A client with cookie support retries with the cookie; others retry
    /// over TCP (RFC 7873 section 5.2.3).
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

    /// Replies to a query for a cookie only (RFC 7873 section 5.4).
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
