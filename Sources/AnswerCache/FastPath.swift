// Answers a packet without the main thread if possible: from the cache, or by local policy. Takes one lock at most,
// allocates nothing for a hit, and reads no clock: the caller does so once per batch.

package import DNSWire

package struct FastPath: ~Copyable {
    private let cache: AnswerCache
    let access: AccessList
    private let view: ServingView
    /// Nil if the daemon listens on loopback only.
    let gate: ClientGate?
    private let version: String
    /// Set for each packet; a stored property because a name has up to 255 bytes.
    private var key: AnswerKey
    /// Extended error of the last reply that was refused or local; nil: none.
    package internal(set) var remark: UInt16?

    package enum Outcome: Equatable, Sendable {
        /// A reply from the cache was written.
        case answered(ResponseCode)
        /// Likewise; the first reply for which the answer is due for a refresh.
        case answeredAndDue(ResponseCode, Question)
        /// Likewise; the reply for which `AnswerCache.awaitHit` set the mark.
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
        cache: AnswerCache, access: AccessList, view: ServingView, gate: ClientGate? = nil, version: String
    ) {
        self.cache = cache
        self.access = access
        self.view = view
        self.gate = gate
        self.version = version
        key = AnswerKey(partition: view.partition(for: .none))
    }

    /// - Parameters:
    ///   - output: empty, with room for `streamLimitBytes` on a stream, else for `EDNS.ourPayloadBytes`.
    ///   - streamLimitBytes: set if the query came over a stream; nil: the client's datagram limit applies.
    ///   - isCut: the end of the packet is missing: FORMERR, as for any unreadable message.
    @_lifetime(output: copy output)
    package mutating func respond(
        to packet: Span<UInt8>, from client: Address, nowMilliseconds: Int64, streamLimitBytes: Int? = nil,
        isCut: Bool = false, into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        let query: Query
        var reception = Query.receive(packet, isOnStream: streamLimitBytes != nil, isCut: isCut)
        if gate != nil, !client.isLoopback,
            let outcome = atGate(
                &reception, packet, client, nowMilliseconds, isStream: streamLimitBytes != nil, into: &output)
        {
            return outcome
        }
        switch reception {
        case .drop(let reason): return .dropped(reason)
        case .rejection(let rejected, let code):
            let isAllowed = access.allows(client)
            let finalCode = isAllowed ? code : .refused
            remark = isAllowed ? nil : ExtendedError.prohibited.code
            Reply.write(
                code: finalCode, to: rejected, in: packet, extendedError: isAllowed ? nil : .prohibited, into: &output)
            return .refused(finalCode)
        case .query(let received): query = received
        }
        guard access.allows(client) else {
            remark = ExtendedError.prohibited.code
            Reply.write(code: .refused, to: query, in: packet, extendedError: .prohibited, into: &output)
            return .refused(.refused)
        }
        switch BeforeCache(query, in: packet, view) {
        // Refused queries were rejected above.
        case nil, .refused: break
        case .ownAnswer:
            remark = nil
            return OwnAnswer(query, in: packet, version: version)
                .write(to: query, in: packet, from: client, into: &output)
        case .filteredFamily:
            remark = ExtendedError.filteredFamily.code
            Reply.write(code: .noError, to: query, in: packet, extendedError: .filteredFamily, into: &output)
            return .local
        }
        let limit = streamLimitBytes ?? query.datagramLimit
        return respond(
            to: query, in: packet, from: client, nowMilliseconds: nowMilliseconds, limit: limit, into: &output)
    }

    /// Answers a query from the cache, after all earlier checks.
    ///
    /// - Parameter limit: largest size of the reply in bytes.
    @_lifetime(output: copy output)
    package mutating func respond(
        to query: Query, in packet: Span<UInt8>, from client: Address, nowMilliseconds: Int64, limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        let subnet = view.subnet(of: client)
        key.partition = view.partition(for: subnet)
        key.set(packet, from: Header.byteCount, count: query.nameBytes, type: query.type, hashing: cache.hashing)
        return cached(query, packet, subnet, limit: limit, nowMilliseconds, into: &output)
    }

    /// Looks up the provider's answer, and the system resolver's if there is no fresh one: both under one lock.
    private mutating func cached(
        _ query: Query, _ packet: Span<UInt8>, _ subnet: ClientSubnet, limit: Int, _ nowMilliseconds: Int64,
        into output: inout OutputSpan<UInt8>
    ) -> Outcome {
        cache.withTable(key.hash) { table in
            for provenance in Provenance.allCases {
                key.provenance = provenance
                guard let entry = table.find(key) else { continue }
                let freshness = table.freshness(entry, nowMilliseconds: nowMilliseconds, limits: FastPath.freshOnly)
                guard freshness.isGivenAtOnce else { continue }
                let code = table.withReplyBody(of: entry, nowMilliseconds: nowMilliseconds) { body, age in
                    Reply.write(body, to: query, in: packet, ageSeconds: age, limit: limit, into: &output)
                    return body.code
                }
                // A reply has a single outcome: the awaited mark stays for the next reply.
                if freshness == .due, table.askForRefresh(entry) {
                    return .answeredAndDue(code, Question(query.name(in: packet), query.type, from: subnet))
                }
                guard table.takeAwaited(entry) else { return .answered(code) }
                return .answeredAwaited(code, Question(query.name(in: packet), query.type, from: subnet))
            }
            return .miss(query)
        }
    }

    /// Only the resolver serves stale answers, because it asks the upstreams first.
    private static let freshOnly = Freshness.Limits(maxAgeSeconds: 0)
}

extension Freshness {
    /// The cache serves it by itself; a provider's answer comes before the system resolver's.
    package var isGivenAtOnce: Bool { self == .fresh || self == .due }
}
