// Validates the body of a rendered answer from an untrusted source, such as a file. Accepts whole records only, each
// a link of the alias chain, a DNAME record before its link, or a record at the end. Owner names may point only into
// the question or an earlier alias target. Invalid bytes never stop the process.

extension RenderedAnswer {
    /// Creates an answer from its stored parts and recomputes the offsets. Returns nil unless rendering an answer to
    /// this question can produce these parts.
    package init?(
        verifying body: [UInt8], answerCount: UInt16, authorityCount: UInt16, responseCode: ResponseCode, isCut: Bool,
        extendedError: ExtendedError? = nil, to question: Question
    ) {
        guard responseCode == .noError || responseCode == .noSuchName else { return nil }
        guard body.count <= RenderedAnswer.maxBodyBytes, authorityCount <= 1 else { return nil }
        var walk = BodyWalk(body, question)
        guard walk.readAnswers(answerCount), walk.answersAgree(with: responseCode, authorityCount) else { return nil }
        if authorityCount == 1 {
            guard walk.readAuthority() else { return nil }
        }
        guard walk.isAtEnd else { return nil }
        self.init(
            responseCode: responseCode, answerCount: answerCount, authorityCount: authorityCount, body: body,
            ttlOffsets: walk.ttlOffsets, isCut: isCut, isNegative: !walk.hasFinalRecord,
            errorOption: extendedError?.option ?? [])
    }

    /// The addresses in the records, in order.
    package var addresses: [Address] {
        ttlOffsets.compactMap { offset in
            let lengthField = Int(offset) + 4
            let type = RecordType(rawValue: body.span.bigEndian16(at: Int(offset) - 4))
            let start = lengthField + 2
            let data = body[start..<(start + Int(body.span.bigEndian16(at: lengthField)))]
            return type.isAddress ? Address(bytes: data) : nil
        }
    }
}

private struct BodyWalk {
    /// The question's name, type and class as zeros, then the body: a message without its header.
    private let message: [UInt8]
    private let bodyStart: Int
    private let question: Question
    private var at: Int
    private(set) var ttlOffsets: [UInt16] = []
    private let questionName: Range<Int>
    /// Targets of the CNAME records read so far; with the question, the valid targets of pointers.
    private var targets: [Range<Int>] = []
    private var redirections: [ResourceRecord] = []
    /// True if the last record was at the end of the chain.
    private(set) var hasFinalRecord = false

    init(_ body: [UInt8], _ question: Question) {
        self.question = question
        message = question.name.wire + [0, 0, 0, 0] + body
        questionName = 0..<question.name.wire.count
        bodyStart = questionName.upperBound + 4
        at = bodyStart
    }

    var isAtEnd: Bool { at == message.count }

    /// NXDOMAIN and NODATA have no records at the end of the chain; positive answers have no authority records.
    func answersAgree(with code: ResponseCode, _ authorityCount: UInt16) -> Bool {
        !hasFinalRecord || (code == .noError && authorityCount == 0)
    }

    mutating func readAnswers(_ count: UInt16) -> Bool {
        let followsAliases = question.type != .cname && question.type != .any
        // The DNAME record whose CNAME record comes next.
        var redirection: ResourceRecord?
        for _ in 0..<count {
            guard let record = readRecord() else { return false }
            guard isOwner(record.owner, within: end, orAbove: false) else {
                guard redirection == nil, !hasFinalRecord, record.type == .dname else { return false }
                guard isOwner(record.owner, within: end, orAbove: true) else { return false }
                let owner = Array(message[(end.upperBound - record.owner.byteCount)..<end.upperBound])
                let found = ResourceRecord(
                    owner: Name(unchecked: owner), type: .dname, ttlSeconds: 0, data: Array(message[record.data]))
                redirection = found
                redirections.append(found)
                continue
            }
            if let made = redirection?.alias(of: endName), made.aliasTarget != Name(wire: message[record.data]) {
                return false
            }
            guard redirection == nil || record.type == .cname else { return false }
            redirection = nil
            if followsAliases, record.type == .cname {
                guard !hasFinalRecord, targets.count < AliasChain.maxLinks, !isKnown(record.data) else { return false }
                targets.append(record.data)
            } else {
                guard question.asks(for: record.type) else { return false }
                hasFinalRecord = true
            }
        }
        // A DNAME record above the end would lead on.
        let leadsOn = followsAliases && !hasFinalRecord && redirections.covering(endName)?.alias(of: endName) != nil
        return redirection == nil && !leadsOn
    }

    mutating func readAuthority() -> Bool {
        guard let record = readRecord() else { return false }
        return record.type == .soa && isOwner(record.owner, within: end, orAbove: true)
    }

    /// Returns true if the chain has visited this target before, which would be a loop.
    private func isKnown(_ target: Range<Int>) -> Bool {
        let names = [questionName] + targets
        return names.contains { $0.count == target.count && isEqual($0, target) }
    }

    /// The name at the end of the chain.
    private var end: Range<Int> { targets.last ?? questionName }
    private var endName: Name { Name(unchecked: Array(message[end])) }

    // MARK: one record

    private struct Record {
        let owner: Owner
        let type: RecordType
        let data: Range<Int>
    }

    private mutating func readRecord() -> Record? {
        guard let owner = readOwner(), at + 10 <= message.count else { return nil }
        // A copy that shares the bytes: a borrow from `self` would also block its other properties.
        let message = message
        let bytes = message.span
        let type = RecordType(rawValue: bytes.bigEndian16(at: at))
        guard bytes.bigEndian16(at: at + 2) == Query.classIN, !type.isMeta else { return nil }
        guard bytes.bigEndian32(at: at + 4) <= UpstreamReply.maxTTLSeconds else { return nil }
        let data = (at + 10)..<(at + 10 + Int(bytes.bigEndian16(at: at + 8)))
        guard data.upperBound <= message.count, isWhole(data, type) else { return nil }
        ttlOffsets.append(UInt16(at + 4 - bodyStart))
        at = data.upperBound
        return Record(owner: owner, type: type, data: data)
    }

    /// Returns true if the data is valid for its type and uncompressed.
    private func isWhole(_ data: Range<Int>, _ type: RecordType) -> Bool {
        switch type {
        case .a: return data.count == 4
        case .aaaa: return data.count == 16
        case .cname: return Name(wire: message[data]) != nil
        default: return type.accepts(Array(message[data]))
        }
    }

    // MARK: owners

    /// A name in two parts: the labels present here, and the target of a pointer. Without a pointer the labels end
    /// with the root label and the rest is empty.
    private struct Owner {
        let labels: Range<Int>
        let rest: Range<Int>

        var byteCount: Int { labels.count + rest.count }
    }

    /// Reads an owner name and advances past it.
    private mutating func readOwner() -> Owner? {
        let start = at
        while at < message.count, at - start < Name.maxWireBytes {
            let length = Int(message[at])
            if length == 0 {
                at += 1
                return Owner(labels: start..<at, rest: at..<at)
            }
            if length > Name.maxLabelBytes {
                guard length >= 0xC0, at + 1 < message.count else { return nil }
                let target = Int(message.span.bigEndian16(at: at) & 0x3FFF) - Header.byteCount
                guard let name = knownName(around: target) else { return nil }
                defer { at += 2 }
                return Owner(labels: start..<at, rest: target..<name.upperBound)
            }
            at += 1 + length
        }
        return nil
    }

    private func knownName(around target: Int) -> Range<Int>? {
        questionName.contains(target) ? questionName : targets.first { $0.contains(target) }
    }

    /// Returns true if the owner equals `name`, or with `orAbove` one of its ancestors.
    private func isOwner(_ owner: Owner, within name: Range<Int>, orAbove: Bool) -> Bool {
        let start = name.upperBound - owner.byteCount
        guard orAbove ? isBorder(start, in: name) : start == name.lowerBound else { return false }
        let middle = start + owner.labels.count
        return isEqual(owner.labels, start..<middle) && isEqual(owner.rest, middle..<name.upperBound)
    }

    private func isBorder(_ position: Int, in name: Range<Int>) -> Bool {
        var border = name.lowerBound
        while border < position { border += 1 + Int(message[border]) }
        return border == position
    }

    /// Compares names without regard to ASCII case (RFC 4343).
    private func isEqual(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        if left == right { return true }
        return zip(left, right).allSatisfy { message[$0].lowercased == message[$1].lowercased }
    }
}
