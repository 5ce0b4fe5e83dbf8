// An answer as the bytes that follow a reply's question. Rendered once; each reply copies it and decrements its TTLs.
// Invariants: records are whole, `ttlOffsets` ascend and point to the TTL fields in record order, and name pointers
// refer to the question or earlier records.

// Encoding records on every hit would allow a record order per client, which nothing needs.
package struct RenderedAnswer: Equatable, Sendable {
    package let responseCode: ResponseCode
    package let answerCount: UInt16
    package let authorityCount: UInt16
    package let body: [UInt8]
    package let ttlOffsets: [UInt16]
    /// Records were omitted because no message can hold all; every reply sets TC.
    package let isCut: Bool
    /// NXDOMAIN or NODATA.
    package let isNegative: Bool
    /// The extended error as an option of EDNS, with code and length; empty: none. Replies with EDNS have it.
    package let errorOption: [UInt8]
    /// A trusted upstream vouches for all records; replies set AD for clients that read it.
    package let isAuthentic: Bool

    /// The message limit of 65,535 bytes less header, question and OPT. Records beyond it are omitted.
    static let maxBodyBytes = 65_535 - Header.byteCount - Name.maxWireBytes - 4 - 256

    /// Renders a body that fits any reply to this question, since the question's length does not depend on letter case.
    package init(_ answer: Answer, to question: Question, recordClass: UInt16 = Query.classIN) {
        var writer = Writer(question: question.name, recordClass: recordClass, records: answer.records.count)
        var answers: UInt16 = 0
        let (records, others) = (answer.records, answer.authorities)
        for index in records.indices where writer.append(records.span[index]) { answers += 1 }
        var authorities: UInt16 = 0
        for index in others.indices where writer.append(others.span[index]) { authorities += 1 }
        responseCode = answer.responseCode
        answerCount = answers
        authorityCount = authorities
        body = writer.body
        ttlOffsets = writer.ttlOffsets
        isCut = answers < answer.records.count || authorities < answer.authorities.count
        isNegative = answer.kind != .records
        errorOption = answer.remark?.option ?? []
        isAuthentic = answer.isAuthentic
    }

    /// Copies an answer out of a cache slot.
    package init(copying kept: borrowing Reply.Body, isNegative: Bool) {
        self.init(
            responseCode: kept.code, answerCount: kept.answerCount, authorityCount: kept.authorityCount,
            body: kept.bytes.copied, ttlOffsets: kept.ttlOffsets.copied, isCut: kept.isCut, isNegative: isNegative,
            errorOption: kept.errorOption.copied, isAuthentic: kept.isAuthentic)
    }

    /// Returns a copy in which every record has this TTL, in seconds. For expired answers: no upstream vouches for them
    /// any more.
    package func withEveryTTL(_ ttlSeconds: UInt32) -> RenderedAnswer {
        var body = body
        for offset in ttlOffsets {
            var bytes = body.mutableSpan
            bytes.setBigEndian(ttlSeconds, at: Int(offset))
        }
        return RenderedAnswer(
            responseCode: responseCode, answerCount: answerCount, authorityCount: authorityCount, body: body,
            ttlOffsets: ttlOffsets, isCut: isCut, isNegative: isNegative, errorOption: errorOption)
    }

    /// The extended error of the answer; nil: none.
    package var extendedError: ExtendedError? { errorOption.isEmpty ? nil : ExtendedError(options: errorOption) }

    /// Takes parts that are already validated.
    init(
        responseCode: ResponseCode, answerCount: UInt16, authorityCount: UInt16, body: [UInt8], ttlOffsets: [UInt16],
        isCut: Bool, isNegative: Bool, errorOption: [UInt8] = [], isAuthentic: Bool = false
    ) {
        self.responseCode = responseCode
        self.answerCount = answerCount
        self.authorityCount = authorityCount
        self.body = body
        self.ttlOffsets = ttlOffsets
        self.isCut = isCut
        self.isNegative = isNegative
        self.errorOption = errorOption
        self.isAuthentic = isAuthentic
    }

    private struct Writer {
        var body: [UInt8] = []
        var ttlOffsets: [UInt16] = []
        /// Names in the message and their offsets: the question, its ancestors, then targets of CNAME records. Empty
        /// while no record needs more than a pointer to the question, as in most answers.
        private var known: [(name: Name, offset: Int)] = []
        private let question: Name
        private let bodyOffset: Int
        private let recordClass: UInt16
        /// Bound on `known`: enough for a chain and a zone name; searched linearly for each owner.
        private static let maxKnown = 32
        private static let pointerToQuestion: [UInt8] = [0xC0, UInt8(Header.byteCount)]
        /// Usual size of a record: that of an AAAA record.
        private static let usualRecordBytes = 28

        /// - Parameter records: expected number of records.
        init(question: Name, recordClass: UInt16, records: Int) {
            self.question = question
            self.recordClass = recordClass
            bodyOffset = Header.byteCount + question.wire.count + 4
            body.reserveCapacity(records * Writer.usualRecordBytes)
            ttlOffsets.reserveCapacity(records)
        }

        mutating func append(_ record: ResourceRecord) -> Bool {
            let isQuestions =
                known.isEmpty && record.type != .cname && record.owner == question && !question.isRoot
            if known.isEmpty, !isQuestions { remember(question, at: Header.byteCount) }
            let owner = isQuestions ? Writer.pointerToQuestion : compressed(record.owner)
            guard body.count + owner.count + 10 + record.data.count <= maxBodyBytes, record.data.count <= 0xFFFF else {
                return false
            }
            let head = UInt64(record.type.rawValue) << 48 | UInt64(recordClass) << 32 | UInt64(record.ttlSeconds)
            body.append(addingCapacity: owner.count + 10 + record.data.count) { output in
                output.append(owner.span)
                output.appendBigEndian(head)
                output.appendBigEndian(UInt16(record.data.count))
                output.append(record.data.span)
            }
            let dataOffset = body.count - record.data.count
            ttlOffsets.append(UInt16(dataOffset - 6))
            if record.type == .cname { remember(Name(unchecked: record.data), at: bodyOffset + dataOffset) }
            return true
        }

        /// Records the name and its ancestors, each of which starts at a label within it.
        private mutating func remember(_ name: Name, at start: Int) {
            var at = 0
            while at < name.wire.count, name.wire[at] != 0, known.count < Writer.maxKnown, start + at < 0x3FFF {
                known.append((Name(unchecked: Array(name.wire[at...])), start + at))
                at += 1 + Int(name.wire[at])
            }
        }

        /// Returns the new labels, then a pointer to the rest (RFC 1035 section 4.1.4).
        private func compressed(_ name: Name) -> [UInt8] {
            var at = 0
            while name.wire[at] != 0 {
                let rest = Name(unchecked: Array(name.wire[at...]))
                if let match = known.first(where: { $0.name == rest }) {
                    return name.wire[..<at] + [0xC0 | UInt8(match.offset >> 8), UInt8(match.offset & 0xFF)]
                }
                at += 1 + Int(name.wire[at])
            }
            return name.wire
        }
    }
}

extension Span {
    var copied: [Element] { unsafe withUnsafeBufferPointer { unsafe Array($0) } }
}

extension [UInt8] {
    mutating func appendBigEndian(_ value: UInt16) {
        append(UInt8(value >> 8))
        append(UInt8(value & 0xFF))
    }

    mutating func appendBigEndian(_ value: UInt32) {
        appendBigEndian(UInt16(value >> 16))
        appendBigEndian(UInt16(value & 0xFFFF))
    }
}
