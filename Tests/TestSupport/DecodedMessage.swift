// A second parser of DNS messages, for tests only. It shares no code with the one under test, accepts only whole
// messages, and names the cause of a failure.

package struct DecodedMessage: Equatable, Sendable {
    package struct Question: Equatable, Sendable {
        package let name: [UInt8]
        package let type: UInt16
        package let recordClass: UInt16
    }

    package struct Record: Equatable, Sendable {
        /// The owner's name in wire form, uncompressed.
        package let owner: [UInt8]
        package let type: UInt16
        package let recordClass: UInt16
        package let ttl: UInt32
        package let data: [UInt8]

        package init(owner: [UInt8], type: UInt16, recordClass: UInt16, ttl: UInt32, data: [UInt8]) {
            self.owner = owner
            self.type = type
            self.recordClass = recordClass
            self.ttl = ttl
            self.data = data
        }
    }

    package struct Malformed: Error, CustomStringConvertible {
        package let description: String
    }

    package let id: UInt16
    package let flags: UInt16
    package let questions: [Question]
    package let answers: [Record]
    package let authorities: [Record]
    package let additionals: [Record]

    package var isReply: Bool { flags >> 15 == 1 }
    package var opcode: UInt16 { flags >> 11 & 15 }
    package var isAuthoritative: Bool { flags >> 10 & 1 == 1 }
    package var isTruncated: Bool { flags >> 9 & 1 == 1 }
    package var recursionDesired: Bool { flags >> 8 & 1 == 1 }
    package var recursionAvailable: Bool { flags >> 7 & 1 == 1 }
    package var reservedBit: Bool { flags >> 6 & 1 == 1 }
    package var authenticData: Bool { flags >> 5 & 1 == 1 }
    package var checkingDisabled: Bool { flags >> 4 & 1 == 1 }
    package var optionRecord: Record? { additionals.first { $0.type == 41 } }

    /// The response code with the upper bits from the OPT record.
    package var responseCode: UInt16 {
        flags & 15 | UInt16(truncatingIfNeeded: (optionRecord?.ttl ?? 0) >> 24) << 4
    }

    package init(_ bytes: [UInt8]) throws {
        var reader = Reader(bytes: bytes)
        id = try reader.number16()
        flags = try reader.number16()
        let counts = [
            try reader.number16(), try reader.number16(), try reader.number16(), try reader.number16(),
        ]
        var questions: [Question] = []
        for _ in 0..<counts[0] {
            let name = try reader.name()
            questions.append(Question(name: name, type: try reader.number16(), recordClass: try reader.number16()))
        }
        self.questions = questions
        answers = try reader.records(counts[1])
        authorities = try reader.records(counts[2])
        additionals = try reader.records(counts[3])
        guard reader.at == bytes.count else {
            throw Malformed(description: "\(bytes.count - reader.at) bytes behind the last record")
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var at = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func number16() throws -> UInt16 {
            let pair = try take(2)
            return UInt16(pair[0]) * 256 + UInt16(pair[1])
        }

        mutating func records(_ count: UInt16) throws -> [Record] {
            var records: [Record] = []
            for _ in 0..<count {
                let owner = try name()
                let type = try number16()
                let recordClass = try number16()
                let ttl = UInt32(try number16()) * 65_536 + UInt32(try number16())
                let data = try take(Int(try number16()))
                records.append(Record(owner: owner, type: type, recordClass: recordClass, ttl: ttl, data: data))
            }
            return records
        }

        /// The name at the current place. A pointer must lead to a place before its labels, so that the name has an
        /// end.
        mutating func name() throws -> [UInt8] {
            var name: [UInt8] = []
            let start = at
            while true {
                let length = try take(1)[0]
                if length >= 0xC0 {
                    let target = Int(length & 0x3F) * 256 + Int(try take(1)[0])
                    guard target < start else { throw Malformed(description: "a pointer at \(start) leads forward") }
                    var there = Reader(bytes: bytes)
                    there.at = target
                    return try checked(name + there.name())
                }
                guard length < 64 else { throw Malformed(description: "a label of kind \(length >> 6)") }
                name.append(length)
                name += try take(Int(length))
                if length == 0 { return try checked(name) }
            }
        }

        private func checked(_ name: [UInt8]) throws -> [UInt8] {
            guard name.count <= 255 else { throw Malformed(description: "a name of \(name.count) bytes") }
            return name
        }

        private mutating func take(_ count: Int) throws -> [UInt8] {
            guard at + count <= bytes.count else { throw Malformed(description: "cut at byte \(bytes.count)") }
            defer { at += count }
            return Array(bytes[at..<(at + count)])
        }
    }
}
