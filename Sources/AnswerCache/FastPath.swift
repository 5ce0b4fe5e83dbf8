// Packet in, reply out: everything that a serving thread can answer by itself. One lock at most, no allocation for a
// hit, and no clock: the caller reads it once before a batch.

package import DNSWire

package struct FastPath: ~Copyable {
    private let cache: AnswerCache
    let access: AccessList
    private let view: ServingView
    /// Nil where nobody but this machine is listened to.
    let gate: ClientGate?
    private let version: String
    /// Set anew for each packet; kept here because a name has up to 255 bytes.
    private var key: AnswerKey
    /// The number of the extended error in the last reply that was refused or our own; nil: it had none.
    package internal(set) var remark: UInt16?

    package enum Outcome: Equatable, Sendable {
        /// A reply from the cache was written.
        case answered(ResponseCode)
        /// Likewise; and this reply is the first one for which the answer is due for a refresh.
        case answeredAndDue(ResponseCode, Question)
        /// Likewise; and this reply is the one that `AnswerCache.awaitHit` waits for.
        case answeredAwaited(ResponseCode, Question)
        /// A reply of our own was written: about ourselves (version.bind), to ANY, or that there is no IPv6.
        case local
        /// A refusal was written: not allowed, malformed, or nothing a stub asks.
        case refused(ResponseCode)
        /// The client is over its limit. A reply was written that says to ask again: over TCP, or with a cookie.
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
    ///   - streamLimitBytes: set where the query came over a stream; nil: the client's datagram limit holds.
    ///   - isCut: the end of the packet is missing: FORMERR, as for any message that can't be read.
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
        // What is refused was rejected above.
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

    /// What the cache says to a query that has passed all that comes before it.
    ///
    /// - Parameter limit: bytes the reply may have.
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

    /// The provider's answer if there is a fresh one, else the system resolver's: both under one lock.
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
                // One reply says one thing: the mark of what is awaited stays for the next.
                if freshness == .due, table.askForRefresh(entry) {
                    return .answeredAndDue(code, Question(query.name(in: packet), query.type, from: subnet))
                }
                guard table.takeAwaited(entry) else { return .answered(code) }
                return .answeredAwaited(code, Question(query.name(in: packet), query.type, from: subnet))
            }
            return .miss(query)
        }
    }

    /// Expired answers are the resolver's to give: the upstreams come first.
    private static let freshOnly = Freshness.Limits(maxAgeSeconds: 0)
}

extension Freshness {
    /// The cache gives it by itself; what it has of a provider goes before what it has of the system resolver.
    package var isGivenAtOnce: Bool { self == .fresh || self == .due }
}
