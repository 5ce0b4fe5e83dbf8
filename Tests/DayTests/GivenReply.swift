// A reply as far as the day's account needs it, parsed without the code that wrote it.

struct GivenReply {
    let code: UInt8
    /// The first record of the answer section; else of the authority section.
    let record: (type: UInt16, ttlSeconds: UInt32, data: ArraySlice<UInt8>)?
    let hasAnswer: Bool
    /// The code of the first option, when it is an extended error.
    let extendedError: UInt16?

    /// Fails if the bytes are not a reply to the packet, or do not end where they should.
    ///
    /// - Parameter questionBytes: the length of the question section.
    init?(_ bytes: [UInt8], to packet: [UInt8], questionBytes: Int) {
        let start = 12 + questionBytes
        guard bytes.count >= start, bytes[0] == packet[0], bytes[1] == packet[1], bytes[2] & 0x80 != 0 else {
            return nil
        }
        guard bytes[12..<start].elementsEqual(packet[12..<start]) else { return nil }
        code = bytes[3] & 0x0F
        hasAnswer = bytes[7] > 0
        var at = start
        var first: (type: UInt16, ttlSeconds: UInt32, data: ArraySlice<UInt8>)?
        for _ in 0..<(Int(bytes[7]) + Int(bytes[9])) {
            guard let record = GivenReply.record(bytes, &at) else { return nil }
            first = first ?? record
        }
        guard let options = GivenReply.record(bytes, &at), options.type == 41, at == bytes.count else { return nil }
        record = first
        let option = Array(options.data.prefix(6))
        extendedError =
            option.count == 6 && option[1] == 15 ? UInt16(option[4]) << 8 | UInt16(option[5]) : nil
    }

    /// The second at which the owner of the name issued the answer.
    var secondOfIssue: Int64? {
        switch (record?.type, record?.data.count) {
        case (1, 4): number(last: 4).map { Int64($0 & 0x1FFFF) }
        case (28, 16): number(last: 4).map { Int64($0) }
        case (6, 22): number(last: 20, of: 4).map { Int64($0) }
        default: nil
        }
    }

    /// The mark that `World.mark` has put into an address.
    var mark: UInt32? {
        switch record?.type {
        case 1: number(last: 4).map { $0 >> 17 & 0x7F }
        case 28: number(last: 12, of: 4)
        default: nil
        }
    }

    private func number(last: Int, of count: Int = 4) -> UInt32? {
        record.map { $0.data.suffix(last).prefix(count).reduce(0) { $0 << 8 | UInt32($1) } }
    }

    private static func record(
        _ bytes: [UInt8], _ at: inout Int
    ) -> (type: UInt16, ttlSeconds: UInt32, data: ArraySlice<UInt8>)? {
        while at < bytes.count, bytes[at] != 0, bytes[at] < 0xC0 { at += 1 + Int(bytes[at]) }
        guard at < bytes.count else { return nil }
        at += bytes[at] == 0 ? 1 : 2
        guard at + 10 <= bytes.count else { return nil }
        let type = UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1])
        let ttl = bytes[(at + 4)..<(at + 8)].reduce(0) { $0 << 8 | UInt32($1) }
        let end = at + 10 + Int(bytes[at + 8]) * 256 + Int(bytes[at + 9])
        guard end <= bytes.count else { return nil }
        defer { at = end }
        return (type, ttl, bytes[(at + 10)..<end])
    }
}
