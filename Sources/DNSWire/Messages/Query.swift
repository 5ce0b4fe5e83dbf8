// Parses a client's packet into a query, a rejection or a drop. Safe for hostile input: bounded steps, no compression
// pointers followed, never stops the process.

package struct Query: Equatable, Sendable {
    package let id: UInt16
    package let flags: UInt16
    /// Length of the question section that the reply copies unchanged (0x20 case kept); 0 if it is malformed.
    package let questionBytes: Int
    package let type: RecordType
    package let recordClass: UInt16
    /// The client's OPT record; nil if it is absent or unreadable.
    package let edns: EDNS?
    package let transport: Transport
    /// The bits DO and CD; none after `dropDNSSEC`.
    package private(set) var dnssec: DNSSECBits
    /// The cookie for the OPT record of every reply; set after the client's cookie is checked.
    package var replyCookie: Cookie?

    package static let classIN: UInt16 = 1
    package static let classCH: UInt16 = 3

    package enum Reception: Equatable, Sendable {
        case query(Query)
        /// The query is answered immediately with a response code, without a lookup.
        case rejection(Query, ResponseCode)
        /// No reply is sent.
        case drop(DropReason)
    }

    package enum DropReason: String, Sendable, CaseIterable {
        /// The packet has fewer than twelve bytes, so there is no header to answer.
        case short
        /// QR=1: a reply to a reply could loop between two servers.
        case reply
        /// The client is far above its rate limit.
        case rateLimited
    }

    /// Bound on additional records: OPT and one of TSIG or SIG(0); a stub sends no more.
    private static let maxAdditionalRecords: UInt16 = 2
    /// Bound on options: cookies, padding, subnet, keepalive and future options; each has at least four bytes.
    private static let maxOptions = 64
    /// Bound on extra questions or records. A few may be a client's mistake; more are not parsed.
    private static let maxStrayRecords = 8

    /// - Parameters:
    ///   - isCut: true if the packet's end is missing, so it is malformed.
    package static func receive(
        _ packet: Span<UInt8>, over transport: Transport = .udp, isCut: Bool = false
    ) -> Reception {
        guard let header = Header(packet) else { return .drop(.short) }
        guard !header.isReply else { return .drop(.reply) }
        // RFC 9619: exactly one question.
        guard header.opcode == 0, header.questionCount == 1 else {
            let code: ResponseCode = header.opcode == 0 ? .formatError : .notImplemented
            return rejectUnread(packet, header, code, transport)
        }
        guard let nameEnd = endOfName(in: packet, at: Header.byteCount), nameEnd + 4 <= packet.count else {
            return rejectUnread(packet, header, .formatError, transport)
        }
        let type = RecordType(rawValue: packet.bigEndian16(at: nameEnd))
        // Queries have no other records, except the SOA of IXFR (RFC 1995 section 3).
        guard
            header.answerCount == 0, header.authorityCount <= (type == .ixfr ? 1 : 0),
            header.additionalCount <= maxAdditionalRecords
        else {
            return rejectUnread(packet, header, .formatError, transport)
        }
        let records = readRecords(packet, at: nameEnd + 4, count: header.authorityCount + header.additionalCount)
        let query = Query(
            id: header.id, flags: header.flags, questionBytes: nameEnd + 4 - Header.byteCount, type: type,
            recordClass: packet.bigEndian16(at: nameEnd + 2), edns: records.edns, transport: transport,
            dnssec: DNSSECBits(flags: header.flags, hasDO: records.edns?.isDNSSECAware ?? false))
        guard records.isWellFormed, !isCut else { return .rejection(query, .formatError) }
        if let edns = query.edns, edns.version != 0 { return .rejection(query, .badVersion) }
        if let code = query.refusal { return .rejection(query, code) }
        return .query(query)
    }

    /// Whether the reply states the idle timeout (RFC 7828 section 3.3.2); over UDP the option is ignored.
    var repliesKeepalive: Bool { transport.isStream && edns?.asksKeepalive == true }

    /// Resolves the query without DO and CD, because no upstream of the name can carry them. The reply still has the
    /// client's CD.
    package mutating func dropDNSSEC() { dnssec = [] }

    /// Whether the client can read AD: it set AD or DO (RFC 6840 sections 5.7 and 5.8).
    package var readsAuthenticData: Bool {
        flags & Header.authenticDataFlag != 0 || edns?.isDNSSECAware ?? false
    }

    /// No provider may learn where the client is.
    package var hidesSubnet: Bool { edns?.hiddenFamily != nil }

    /// False: the client asks only for what the cache has (RFC 1035 section 4.1.1, RD).
    package var wantsRecursion: Bool { flags & Header.recursionDesiredFlag != 0 }

    /// Length of the name, which follows the header.
    package var nameBytes: Int { questionBytes - 4 }

    /// Maximum size of the reply in bytes. Over UDP it is our limit, or the client's payload size if that is smaller.
    package var replyLimitBytes: Int {
        transport.isStream
            ? StreamFraming.maxMessageBytes
            : min(max(edns?.payloadBytes ?? 0, EDNS.minPayloadBytes), EDNS.ourPayloadBytes)
    }

    /// Returns the query name in the client's letter case.
    package func name(in packet: Span<UInt8>) -> Name {
        Name(unchecked: packet.extracting(Header.byteCount..<(Header.byteCount + nameBytes)).copied)
    }

    /// Returns the question, with the name in the client's letter case.
    package func question(in packet: Span<UInt8>, from clients: ClientGroup) -> Question {
        Question(name(in: packet), type, from: clients, dnssec: dnssec)
    }

    /// Returns true for a single label, as used for the machine itself and local hosts.
    package func asksSingleLabel(in packet: Span<UInt8>) -> Bool { Int(packet[Header.byteCount]) + 2 == nameBytes }

    /// The extended error of a rejection. A type that exists only in proofs cannot be asked for (RFC 9824 section 3.4).
    package var extendedErrorOfRejection: ExtendedError? { type == .nxName ? .invalidQueryType : nil }

    /// The response code for types and classes that the daemon never asks upstream; nil for all others.
    private var refusal: ResponseCode? {
        switch type {
        case .opt, .nxName: return .formatError
        case .axfr, .ixfr: return .refused
        case .any: break
        default: if type.isMeta || type.rawValue == 0 { return .notImplemented }
        }
        let isServed = recordClass == Query.classIN || (recordClass == Query.classCH && type == .txt)
        return isServed ? nil : .refused
    }

    // MARK: reading

    /// Rejects a packet with unreadable sections. Still searches its OPT record, since the reply has one exactly if
    /// the query had one (RFC 6891 section 6.1.1).
    private static func rejectUnread(
        _ packet: Span<UInt8>, _ header: Header, _ code: ResponseCode, _ transport: Transport
    ) -> Reception {
        let edns = findOptionRecord(packet, header)
        let query = Query(
            id: header.id, flags: header.flags, questionBytes: 0, type: RecordType(rawValue: 0), recordClass: 0,
            edns: edns, transport: transport,
            dnssec: DNSSECBits(flags: header.flags, hasDO: edns?.isDNSSECAware ?? false))
        return .rejection(query, code)
    }

    /// Returns the offset after a name; nil if it leaves the packet or is too long. With `mayBeCompressed` a pointer
    /// ends the name and is not followed.
    static func endOfName(in packet: Span<UInt8>, at start: Int, mayBeCompressed: Bool = false) -> Int? {
        var at = start
        while at < packet.count {
            let length = Int(packet[at])
            at += 1
            if length == 0 { return at }
            if length >= 0xC0, mayBeCompressed { return at < packet.count ? at + 1 : nil }
            // The root label's byte must still fit after this label.
            guard length <= Name.maxLabelBytes, at + length - start < Name.maxWireBytes else { return nil }
            at += length
        }
        return nil
    }

    /// Returns the OPT record among `count` records, as far as they can be read. Well-formed if they end with the
    /// packet.
    private static func readRecords(_ packet: Span<UInt8>, at start: Int, count: UInt16) -> (
        edns: EDNS?, isWellFormed: Bool
    ) {
        var at = start
        var edns: EDNS?
        for _ in 0..<count {
            let owner = at
            guard let fixed = endOfName(in: packet, at: at, mayBeCompressed: true), fixed + 10 <= packet.count else {
                return (edns, false)
            }
            let end = fixed + 10 + Int(packet.bigEndian16(at: fixed + 8))
            guard end <= packet.count else { return (edns, false) }
            if packet.bigEndian16(at: fixed) == RecordType.opt.rawValue {
                let isFirst = edns == nil
                let version = packet[fixed + 5]
                edns = EDNS(
                    payloadBytes: Int(packet.bigEndian16(at: fixed + 2)), version: version,
                    isDNSSECAware: packet[fixed + 6] >= 0x80)
                // Options of a later EDNS version are not validated.
                if version == 0 {
                    let options = readOptions(packet, from: fixed + 10, to: end)
                    edns?.cookie = options.cookie
                    edns?.asksKeepalive = options.askKeepalive
                    edns?.hiddenFamily = options.hiddenFamily
                    guard options.areWhole else { return (edns, false) }
                }
                guard isFirst, fixed == owner + 1 else { return (edns, false) }
            }
            at = end
        }
        return (edns, at == packet.count)
    }

    private static func readOptions(
        _ packet: Span<UInt8>, from start: Int, to end: Int
    ) -> (areWhole: Bool, cookie: Cookie.Place?, askKeepalive: Bool, hiddenFamily: UInt16?) {
        var at = start
        var cookie: Cookie.Place?
        var askKeepalive = false
        var hiddenFamily: UInt16?
        for _ in 0..<maxOptions {
            if at == end { return (true, cookie, askKeepalive, hiddenFamily) }
            guard at + 4 <= end else { return (false, cookie, askKeepalive, hiddenFamily) }
            let (data, count) = (at + 4, packet.bigEndian16(at: at + 2))
            let next = data + Int(count)
            guard next <= end else { return (false, cookie, askKeepalive, hiddenFamily) }
            if packet.bigEndian16(at: at) == EDNS.ClientSubnet.optionCode,
                count > EDNS.ClientSubnet.sourceLengthOffset, packet[data + EDNS.ClientSubnet.sourceLengthOffset] == 0
            {
                hiddenFamily = packet.bigEndian16(at: data)
            }
            if count == 0, packet.bigEndian16(at: at) == EDNS.Keepalive.optionCode { askKeepalive = true }
            if cookie == nil, packet.bigEndian16(at: at) == Cookie.optionCode, let data = UInt16(exactly: data) {
                cookie = Cookie.Place(start: data, count: count)
            }
            at = next
        }
        return (at == end, cookie, askKeepalive, hiddenFamily)
    }

    private static func findOptionRecord(_ packet: Span<UInt8>, _ header: Header) -> EDNS? {
        var at = Header.byteCount
        guard header.questionCount <= maxStrayRecords else { return nil }
        for _ in 0..<header.questionCount {
            guard let end = endOfName(in: packet, at: at, mayBeCompressed: true), end + 4 <= packet.count else {
                return nil
            }
            at = end + 4
        }
        let records = Int(header.answerCount) + Int(header.authorityCount) + Int(header.additionalCount)
        guard records <= maxStrayRecords else { return nil }
        return readRecords(packet, at: at, count: UInt16(records)).edns
    }
}
