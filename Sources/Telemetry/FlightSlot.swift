// Converts an event to the words of a slot, and back. Memory and files have the same form. Words from a file are
// untrusted: values that no writer produces give no event.

// word 0: sequence word               word 4: IPv4 address, or the last half of an IPv6 address
// word 1: nanoseconds since boot      words 5 to 7: the first 24 bytes of the name
// word 2: kind, source, type,         word 8: the first half of an IPv6 address
//         code, extended error + 1    word 9: upstream, network
// word 3: outcome, name bytes,        words 10 to 15: the next 48 bytes of the name; its rest is in the tail
//         flags, microseconds

package import DNSWire

/// A serving thread's record of a query that it handled; name and type are in the packet.
package struct ServedQuery: Sendable {
    /// The value of word 2 in the slot.
    let what: UInt64
    let outcome: FlightWord
    let client: Address
    package var transport = Transport.udp

    package init(
        _ kind: FlightEvent.Kind, from source: FlightEvent.Source = .none, _ code: ResponseCode = .noError,
        extendedError: UInt16? = nil, outcome: FlightWord = .none, client: Address
    ) {
        what = FlightSlot.what(kind, source, code) | FlightSlot.bits(ofExtendedError: extendedError)
        self.outcome = outcome
        self.client = client
    }
}

/// An event of the main thread as it is written, without name and address. Plain memory, unlike a `FlightEvent`, whose
/// name is counted.
package struct FlightSlot {
    static let nameBytesShift: UInt64 = 16
    static let hasName: UInt64 = 1 << 24
    static let isIPv4: UInt64 = 2 << 24
    static let isIPv6: UInt64 = 4 << 24
    fileprivate static let hasType: UInt64 = 8 << 24
    fileprivate static let hasUpstream: UInt64 = 64 << 24
    fileprivate static let transportShift: UInt64 = 28
    static let nameBytesInSlot = 72

    let nanoseconds: UInt64
    /// Word 2 of the slot.
    let what: UInt64
    /// Word 3 of the slot, without the bits of name and address.
    let flags: UInt64
    let upstream: UInt64

    /// The parameters are the properties of `FlightEvent`.
    package init(
        _ kind: FlightEvent.Kind, atNanoseconds nanoseconds: UInt64, from source: FlightEvent.Source = .none,
        type: RecordType? = nil, _ code: ResponseCode = .noError, extendedError: UInt16? = nil,
        microseconds: UInt32 = 0, outcome: FlightWord = .none, upstream: FlightWord = .none,
        transport: Transport? = nil, network: UInt32 = 0
    ) {
        self.nanoseconds = nanoseconds
        what =
            FlightSlot.what(kind, source, code) | UInt64(type?.rawValue ?? 0) << 16
            | FlightSlot.bits(ofExtendedError: extendedError)
        self.upstream = UInt64(upstream.number) | UInt64(network) << 32
        flags =
            UInt64(outcome.number) | (type == nil ? 0 : FlightSlot.hasType)
            | UInt64(transport?.rawValue ?? 0) << FlightSlot.transportShift
            | (self.upstream == 0 ? 0 : FlightSlot.hasUpstream) | UInt64(microseconds) << 32
    }

    @inline(__always)
    init(_ query: ServedQuery, type: UInt16?, atNanoseconds: UInt64, microseconds: UInt64) {
        nanoseconds = atNanoseconds
        what = query.what | UInt64(type ?? 0) << 16
        upstream = 0
        flags =
            UInt64(query.outcome.number) | (type == nil ? 0 : FlightSlot.hasType)
            | UInt64(query.transport.rawValue) << FlightSlot.transportShift
            | UInt64(UInt32(clamping: microseconds)) << 32
    }

    static func what(_ kind: FlightEvent.Kind, _ source: FlightEvent.Source, _ code: ResponseCode) -> UInt64 {
        UInt64(kind.rawValue) | UInt64(source.rawValue) << 8 | UInt64(code.rawValue) << 32
    }

    /// Whether word 2 is of an event that `FlightScope.failures` takes.
    static func isFailedQuery(_ what: UInt64) -> Bool {
        guard let kind = FlightEvent.Kind(rawValue: UInt8(truncatingIfNeeded: what)), kind.endsQuery else {
            return false
        }
        let source = FlightEvent.Source(rawValue: UInt8(truncatingIfNeeded: what >> 8))
        guard source != .blocked else { return false }
        guard kind == .answered, source != .limited, source != .failure else { return true }
        let code = ResponseCode(rawValue: UInt16(truncatingIfNeeded: what >> 32))
        return code != .noError && code != .noSuchName
    }

    /// Returns the code plus one, so that 0 means none; code 65535 is not used.
    static func bits(ofExtendedError number: UInt16?) -> UInt64 { number.map { UInt64($0 &+ 1) << 48 } ?? 0 }

    static func nameBytes(_ word: UInt64) -> Int { Int(word >> nameBytesShift & 0xFF) }
}

extension FlightEvent {
    /// - Parameter words: the words of a slot, then of its tail.
    init?(_ words: [UInt64]) {
        let (what, rest) = (words[2], words[3])
        let carrier = UInt8(rest >> FlightSlot.transportShift & 3)
        let transport = Transport(rawValue: carrier)
        guard let kind = Kind(rawValue: UInt8(truncatingIfNeeded: what)),
            let source = Source(rawValue: UInt8(truncatingIfNeeded: what >> 8)), transport != nil || carrier == 0
        else { return nil }
        self.init(kind, nanoseconds: words[1])
        self.source = source
        self.transport = transport
        if rest & FlightSlot.hasType != 0 { type = RecordType(rawValue: UInt16(truncatingIfNeeded: what >> 16)) }
        code = ResponseCode(rawValue: UInt16(truncatingIfNeeded: what >> 32))
        let extended = UInt16(truncatingIfNeeded: what >> 48)
        extendedError = extended == 0 ? nil : extended - 1
        microseconds = UInt32(truncatingIfNeeded: rest >> 32)
        outcome = FlightWord(UInt16(truncatingIfNeeded: rest))
        if rest & FlightSlot.isIPv4 != 0 { address = .v4(UInt32(truncatingIfNeeded: words[4])) }
        if rest & FlightSlot.isIPv6 != 0 { address = .v6(high: words[8], low: words[4]) }
        if rest & FlightSlot.hasUpstream != 0 {
            upstream = FlightWord(UInt16(truncatingIfNeeded: words[9]))
            network = UInt32(truncatingIfNeeded: words[9] >> 32)
        }
        if rest & FlightSlot.hasName != 0 {
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
