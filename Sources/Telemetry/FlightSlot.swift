// An event as the words of a slot, and back: the form in memory and in files. What comes from a file may be anything,
// and what no writer has written is no event.
//
// word 0: the ring's mark             word 4: IPv4 address, or the last half of an IPv6 address
// word 1: nanoseconds since boot      words 5 to 7: the first 24 bytes of the name
// word 2: kind, source, type,         word 8: the first half of an IPv6 address
//         code, extended error + 1    word 9: upstream
// word 3: outcome, name bytes,        words 10 to 15: 48 bytes more of the name; what is behind them: its rest
//         flags, microseconds

package import DNSWire

/// What a serving thread knows of a query that it has dealt with; the question is in the packet.
package struct ServedQuery: Sendable {
    package var kind: FlightEvent.Kind
    package var source: FlightEvent.Source
    package var code: ResponseCode
    package var outcome: FlightWord
    package var transport = FlightEvent.Transport.udp
    package var client: Address

    package init(
        _ kind: FlightEvent.Kind, from source: FlightEvent.Source = .none, _ code: ResponseCode = .noError,
        outcome: FlightWord = .none, client: Address
    ) {
        self.kind = kind
        self.source = source
        self.code = code
        self.outcome = outcome
        self.client = client
    }
}

struct FlightSlot {
    static let hasName: UInt64 = 1
    static let isIPv4: UInt64 = 2
    static let isIPv6: UInt64 = 4
    static let hasType: UInt64 = 8
    fileprivate static let transportShift: UInt64 = 4
    static let nameBytesInSlot = 72

    let nanoseconds: UInt64
    private let kind: UInt64
    private let source: UInt64
    var type: UInt64?
    private let code: UInt64
    private let extendedError: UInt64
    private let microseconds: UInt64
    private let outcome: UInt64
    let upstream: UInt64
    private let transport: UInt64

    init(_ event: FlightEvent) {
        nanoseconds = event.nanoseconds
        kind = UInt64(event.kind.rawValue)
        source = UInt64(event.source.rawValue)
        type = event.type.map { UInt64($0.rawValue) }
        code = UInt64(event.code.rawValue)
        // No error has the last number.
        extendedError = event.extendedError.map { UInt64($0 &+ 1) } ?? 0
        microseconds = UInt64(event.microseconds)
        outcome = UInt64(event.outcome.number)
        upstream = UInt64(event.upstream.number)
        transport = UInt64(event.transport.rawValue)
    }

    init(_ query: ServedQuery, atNanoseconds: UInt64, microseconds: UInt64) {
        nanoseconds = atNanoseconds
        // Less than a word has room for, or cut to that: what is behind it belongs to others.
        self.microseconds = UInt64(UInt32(clamping: microseconds))
        kind = UInt64(query.kind.rawValue)
        source = UInt64(query.source.rawValue)
        code = UInt64(query.code.rawValue)
        extendedError = 0
        outcome = UInt64(query.outcome.number)
        upstream = 0
        transport = UInt64(query.transport.rawValue)
    }

    var what: UInt64 { kind | source << 8 | (type ?? 0) << 16 | code << 32 | extendedError << 48 }
    var duration: UInt64 { outcome | microseconds << 32 }
    /// But for those of name and address; shifted by their writer. Less than eight bits.
    var flags: UInt64 {
        (type == nil ? 0 : FlightSlot.hasType) | transport << FlightSlot.transportShift
            | (upstream == 0 ? 0 : FlightSlot.hasUpstream)
    }
    fileprivate static let hasUpstream: UInt64 = 64

    static func nameBytes(_ word: UInt64) -> Int { Int(word >> 16 & 0xFF) }
}

extension FlightEvent {
    /// - Parameter words: of a slot, and of its tail.
    init?(_ words: [UInt64]) {
        let (what, rest) = (words[2], words[3])
        let flags = rest >> 24 & 0xFF
        guard let kind = Kind(rawValue: UInt8(truncatingIfNeeded: what)),
            let source = Source(rawValue: UInt8(truncatingIfNeeded: what >> 8)),
            let transport = Transport(rawValue: UInt8(flags >> FlightSlot.transportShift & 3))
        else { return nil }
        self.init(kind, nanoseconds: words[1])
        self.source = source
        self.transport = transport
        if flags & FlightSlot.hasType != 0 { type = RecordType(rawValue: UInt16(truncatingIfNeeded: what >> 16)) }
        code = ResponseCode(rawValue: UInt16(truncatingIfNeeded: what >> 32))
        let extended = UInt16(truncatingIfNeeded: what >> 48)
        extendedError = extended == 0 ? nil : extended - 1
        microseconds = UInt32(truncatingIfNeeded: rest >> 32)
        outcome = FlightWord(UInt16(truncatingIfNeeded: rest))
        if flags & FlightSlot.isIPv4 != 0 { address = .v4(UInt32(truncatingIfNeeded: words[4])) }
        if flags & FlightSlot.isIPv6 != 0 { address = .v6(high: words[8], low: words[4]) }
        if flags & FlightSlot.hasUpstream != 0 { upstream = FlightWord(UInt16(truncatingIfNeeded: words[9])) }
        if flags & FlightSlot.hasName != 0 {
            guard let read = FlightEvent.name(words, bytes: FlightSlot.nameBytes(rest)) else { return nil }
            name = read
        }
    }

    private static func name(_ words: [UInt64], bytes: Int) -> Name? {
        let places = Array(5..<8) + Array(10..<words.count)
        guard bytes <= places.count * 8 else { return nil }
        let wire = (0..<bytes).map { UInt8(truncatingIfNeeded: words[places[$0 / 8]] >> UInt64(8 * ($0 % 8))) }
        return Name(wire: wire + [0])
    }
}
