// Bounds-checked reader for upstream messages. Never reads outside its range, follows only backward compression
// pointers, a bounded number of times, and reports the offset of an error.

/// A parse error; the offset counts from the first byte of the header.
package struct MalformedMessage: Error, Equatable, Sendable {
    package enum Reason: String, Sendable, CaseIterable {
        /// The message or the record data ends within a field.
        case cut
        /// A label type of 01 or 10, which RFC 1035 section 4.1.4 reserves.
        case labelKind
        /// A pointer that is not backward, targets the header, or exceeds `maxPointers`.
        case pointer
        /// More than 255 bytes (RFC 1035 section 2.3.4).
        case nameLength
        /// RDATA is longer or shorter than its type allows.
        case dataLength
        case tooManyRecords
        /// RFC 6891 section 6.1.1 allows one OPT record.
        case secondOptionRecord
        case aliasLoop
        case aliasChainTooLong
        /// There are records, but none belongs to the query name or its alias chain.
        case unrelatedRecords
        /// NXDOMAIN with records of the query type at the end of the chain.
        case contradiction
    }

    package let offset: Int
    package let reason: Reason
}

/// Describes the error for operators: "record data of the wrong length at byte 40".
extension MalformedMessage: CustomStringConvertible {
    package var description: String {
        let finding =
            switch reason {
            case .cut: "a field that is cut off"
            case .labelKind: "a label of a reserved kind"
            case .pointer: "a compression pointer that leads nowhere"
            case .nameLength: "a name of more than 255 bytes"
            case .dataLength: "record data of the wrong length"
            case .tooManyRecords: "too many records"
            case .secondOptionRecord: "a second OPT record"
            case .aliasLoop: "aliases in a circle"
            case .aliasChainTooLong: "too many aliases in a row"
            case .unrelatedRecords: "records of other names only"
            case .contradiction: "NXDOMAIN with records"
            }
        return "\(finding) at byte \(offset)"
    }
}

struct ByteCursor: ~Escapable {
    private let message: Span<UInt8>
    private(set) var offset: Int
    /// The name at `Header.byteCount`, which most records repeat by a pointer.
    private var first: Name?
    /// Reading stops here; only compression pointers access bytes outside `offset..<end`.
    private let end: Int

    /// Each pointer must target an earlier offset than the previous one, so reading always ends. 127 labels with a
    /// pointer after each are legal but absurd; real messages have two or three.
    static let maxPointers = 32
    /// Initial room for a name. Names of hosts rarely need more, so the array grows once.
    private static let usualNameBytes = 32

    @_lifetime(copy message)
    init(_ message: Span<UInt8>, from offset: Int) {
        self.init(message, from: offset, to: message.count, first: nil)
    }

    @_lifetime(copy message)
    private init(_ message: Span<UInt8>, from offset: Int, to end: Int, first: Name?) {
        self.first = first
        self.message = message
        self.offset = offset
        self.end = end
    }

    var isAtEnd: Bool { offset >= end }

    /// The number of bytes that follow.
    var remaining: Int { max(0, end - offset) }

    func malformed(_ reason: MalformedMessage.Reason) -> MalformedMessage {
        MalformedMessage(offset: offset, reason: reason)
    }

    @_lifetime(self: copy self)
    mutating func readByte() throws(MalformedMessage) -> UInt8 {
        try require(1)
        defer { offset += 1 }
        return message[offset]
    }

    @_lifetime(self: copy self)
    mutating func readBigEndian16() throws(MalformedMessage) -> UInt16 {
        try require(2)
        defer { offset += 2 }
        return message.bigEndian16(at: offset)
    }

    @_lifetime(self: copy self)
    mutating func readBigEndian32() throws(MalformedMessage) -> UInt32 {
        try require(4)
        defer { offset += 4 }
        return message.bigEndian32(at: offset)
    }

    @_lifetime(self: copy self)
    mutating func append(_ count: Int, to output: inout [UInt8]) throws(MalformedMessage) {
        try require(count)
        let bytes = message.extracting(offset..<(offset + count))
        if output.capacity == 0 {
            output = bytes.copied
        } else {
            output.append(addingCapacity: count) { $0.append(bytes) }
        }
        offset += count
    }

    /// Reads the bytes that follow.
    @_lifetime(self: copy self)
    mutating func readRest() -> [UInt8] {
        let rest = message.extracting(offset..<(offset + remaining)).copied
        offset += remaining
        return rest
    }

    /// Advances past the next `count` bytes and returns a cursor limited to them.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func readRange(_ count: Int) throws(MalformedMessage) -> ByteCursor {
        try require(count)
        defer { offset += count }
        return ByteCursor(message, from: offset, to: offset + count, first: first)
    }

    /// Reads a name (RFC 1035 section 4.1.4). The cursor then follows the name's first pointer or its root label.
    @_lifetime(self: copy self)
    mutating func readName() throws(MalformedMessage) -> Name {
        if let first, offset + 2 <= end, message.bigEndian16(at: offset) == UInt16(0xC000 + Header.byteCount) {
            offset += 2
            return first
        }
        // The owner of an OPT record.
        if offset < end, message[offset] == 0 {
            offset += 1
            return .root
        }
        let start = offset
        var wire: [UInt8] = []
        wire.reserveCapacity(ByteCursor.usualNameBytes)
        var at = offset
        var limit = end
        var earliest = offset
        var pointers = 0
        while true {
            guard at < limit else { throw malformed(.cut) }
            let length = Int(message[at])
            switch length >> 6 {
            case 0:
                guard at + 1 + length <= limit else { throw malformed(.cut) }
                // The root label's byte must still fit after this label.
                guard wire.count + 1 + length < Name.maxWireBytes || length == 0 else { throw malformed(.nameLength) }
                let label = message.extracting(at..<(at + 1 + length))
                wire.append(addingCapacity: 1 + length) { $0.append(label) }
                at += 1 + length
                guard length == 0 else { continue }
                if pointers == 0 { offset = at }
                let name = Name(unchecked: wire)
                if start == Header.byteCount { first = name }
                return name
            case 3:
                guard at + 2 <= limit else { throw malformed(.cut) }
                let target = Int(message.bigEndian16(at: at) & 0x3FFF)
                if pointers == 0 { offset = at + 2 }
                pointers += 1
                guard target < earliest, target >= Header.byteCount, pointers <= ByteCursor.maxPointers else {
                    throw malformed(.pointer)
                }
                earliest = target
                at = target
                limit = message.count
            default: throw malformed(.labelKind)
            }
        }
    }

    /// Advances past a name that is written as this one: uncompressed, and in the same letter case.
    ///
    /// - Returns: false if something else follows; the cursor does not move.
    @_lifetime(self: copy self)
    mutating func skip(_ name: Name) -> Bool {
        let wire = name.wire.span
        guard wire.count <= end - offset else { return false }
        for index in wire.indices where message[offset + index] != wire[index] { return false }
        if offset == Header.byteCount { first = name }
        offset += wire.count
        return true
    }

    private func require(_ count: Int) throws(MalformedMessage) {
        guard count <= end - offset else { throw malformed(.cut) }
    }
}
