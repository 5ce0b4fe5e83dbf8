// The last events of one thread in memory of fixed size: one writer, any readers, no locks, and no allocation.
//
// Invariants
// - Event n (from 0) is in slot n % capacity. The first word of a slot is 2n + 1 while event n is being written, and
//   2n + 2 when it is whole (a sequence lock for each slot: Lameter 2005). Who finds the same whole number before and
//   after reading has read one event; who does not skips it, as it is being replaced by a later one.
// - A slot has 128 bytes. The second half is for IPv6 addresses, upstreams and names of more than 24 bytes, and names
//   of more than 72 bytes have their rest in memory of its own: what is not used is not touched.

import DNSWire
import Synchronization

@safe package final class FlightRing: Sendable {
    /// Some seconds of a busy resolver, a day of a quiet one.
    package static let capacity = 10_000
    static let slotWords = 16
    /// What a name of 254 bytes, its root left out, has beyond the 72 in its slot.
    static let tailWords = 23
    /// The slots stand behind a line of their own for the count, the tails behind the slots.
    static let firstSlot = 8
    static let firstTail = firstSlot + capacity * slotWords
    static let wordCount = firstTail + capacity * tailWords

    let memory = FlightMemory(words: wordCount)

    package init() {}

    /// Events since the start, those that were replaced included.
    package var count: UInt64 { unsafe memory.cells[0].load(ordering: .acquiring) }

    /// By the one thread that owns it.
    package func record(_ event: FlightEvent) {
        let name = event.name?.wire ?? []
        unsafe name.withUnsafeBytes { raw in
            unsafe write(FlightSlot(event), address: event.address, raw, from: 0, nameBytes: name.count - 1)
        }
    }

    /// By the one thread that owns it: with name and type as they stand in a client's packet, if they can be read.
    package func record(
        _ query: ServedQuery, atNanoseconds nanoseconds: UInt64, microseconds: UInt64, in packet: Span<UInt8>
    ) {
        unsafe packet.withUnsafeBytes { raw in
            let question = unsafe FlightRing.question(in: raw)
            let slot = FlightSlot(
                query, type: question.type, atNanoseconds: nanoseconds, microseconds: microseconds)
            unsafe write(
                slot, address: query.client, raw, from: FlightRing.headerBytes, nameBytes: question.nameBytes)
        }
    }

    /// `Header.byteCount` and the like, where the compiler sees their values.
    private static let headerBytes = 12
    private static let maxNameBytes = 255
    private static let maxLabelBytes: UInt8 = 63

    /// Where the question's name ends, its root left out, and the type behind it. -1 and nil for none.
    private static func question(in packet: UnsafeRawBufferPointer) -> (nameBytes: Int, type: UInt16?) {
        guard packet.count > headerBytes + 4, unsafe packet[4] == 0, unsafe packet[5] == 1 else { return (-1, nil) }
        var at = headerBytes
        let end = min(packet.count - 4, headerBytes + maxNameBytes)
        while at < end {
            let length = unsafe packet[at]
            if length == 0 {
                return unsafe (at - headerBytes, UInt16(packet[at + 1]) << 8 | UInt16(packet[at + 2]))
            }
            guard length <= maxLabelBytes else { break }
            at &+= 1 &+ Int(length)
        }
        return (-1, nil)
    }

    /// Inlined by order, as are its parts: each hit comes here.
    ///
    /// - Parameter nameBytes: without its root; negative: there is no name.
    @inline(__always)
    private func write(
        _ slot: FlightSlot, address: Address?, _ text: UnsafeRawBufferPointer, from start: Int, nameBytes: Int
    ) {
        let count = unsafe memory.cells
        let number = unsafe count[0].load(ordering: .relaxed)
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe count + (FlightRing.firstSlot + place * FlightRing.slotWords)
        unsafe cells[0].store(2 &* number &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        var flags = slot.flags
        switch address {
        case nil: break
        case .v4(let value):
            flags |= FlightSlot.isIPv4
            unsafe cells[4].store(UInt64(value), ordering: .relaxed)
        case .v6(let high, let low):
            flags |= FlightSlot.isIPv6
            unsafe cells[4].store(low, ordering: .relaxed)
            unsafe cells[8].store(high, ordering: .relaxed)
        }
        if slot.upstream != 0 { unsafe cells[9].store(slot.upstream, ordering: .relaxed) }
        if nameBytes >= 0 {
            flags |= FlightSlot.hasName | UInt64(nameBytes) << FlightSlot.nameBytesShift
            unsafe writeName(text, from: start, bytes: nameBytes, into: cells, place)
        }
        unsafe cells[1].store(slot.nanoseconds, ordering: .relaxed)
        unsafe cells[2].store(slot.what, ordering: .relaxed)
        unsafe cells[3].store(flags, ordering: .relaxed)
        unsafe cells[0].store(2 &* number &+ 2, ordering: .releasing)
        unsafe count[0].store(number &+ 1, ordering: .releasing)
    }

    /// Eight bytes at a time; what a word has beyond the name is 0.
    @inline(__always)
    private func writeName(
        _ text: UnsafeRawBufferPointer, from start: Int, bytes: Int, into cells: UnsafeMutablePointer<Atomic<UInt64>>,
        _ place: Int
    ) {
        var (done, word) = (0, 0)
        while done &+ 8 <= bytes {
            let value = unsafe UInt64(littleEndian: text.loadUnaligned(fromByteOffset: start &+ done, as: UInt64.self))
            unsafe cell(word, cells, place).pointee.store(value, ordering: .relaxed)
            done &+= 8
            word &+= 1
        }
        guard done < bytes else { return }
        let value = unsafe FlightRing.rest(of: text, at: start &+ done, bytes: bytes &- done)
        unsafe cell(word, cells, place).pointee.store(value, ordering: .relaxed)
    }

    /// One to seven bytes. Most often more follow, and reading those, too, is quicker.
    @inline(__always)
    private static func rest(of text: UnsafeRawBufferPointer, at offset: Int, bytes: Int) -> UInt64 {
        if offset &+ 8 <= text.count {
            let value = unsafe UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            return value & ((1 &<< UInt64(8 &* bytes)) &- 1)
        }
        var value: UInt64 = 0
        for index in 0..<bytes { unsafe value |= UInt64(text[offset + index]) << UInt64(8 * index) }
        return value
    }

    /// Of a name's words: three in the slot's first half, six in its second one, the rest apart.
    @inline(__always)
    private func cell(
        _ word: Int, _ cells: UnsafeMutablePointer<Atomic<UInt64>>, _ place: Int
    ) -> UnsafeMutablePointer<Atomic<UInt64>> {
        if word < 3 { return unsafe cells + (5 + word) }
        if word < 9 { return unsafe cells + (7 + word) }
        return unsafe memory.cells + (FlightRing.firstTail + place * FlightRing.tailWords + word - 9)
    }

    /// By any thread; nil for an event that is not there any more, or not yet.
    package func event(_ number: UInt64) -> FlightEvent? { words(of: number).flatMap(FlightEvent.init) }

    /// Of a name that events are looked for by: what is in each slot's first half.
    struct NameSketch {
        fileprivate let bytes: Int
        fileprivate let words: [UInt64]

        init(_ name: Name) {
            let wire = name.wire.dropLast()
            bytes = wire.count
            words = (0..<3).map { word in
                wire.dropFirst(8 * word).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
        }

        /// Set in both, so that the case of letters does not matter.
        fileprivate static let caseBits: UInt64 = 0x2020_2020_2020_2020
    }

    /// False: it is about a name of another length or beginning. A look that costs little.
    func mayBe(_ number: UInt64, about name: NameSketch) -> Bool {
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe memory.cells + (FlightRing.firstSlot + place * FlightRing.slotWords)
        guard unsafe FlightSlot.nameBytes(cells[3].load(ordering: .relaxed)) == name.bytes else { return false }
        // What is behind a shorter name is of events before it.
        return (0..<min((name.bytes + 7) / 8, 3)).allSatisfy { word in
            let found = unsafe cells[5 + word].load(ordering: .relaxed)
            return (found ^ name.words[word]) & ~NameSketch.caseBits == 0
        }
    }

    /// Of whatever is in its place now. A look that costs little.
    func endsQuery(_ number: UInt64) -> Bool {
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe memory.cells + (FlightRing.firstSlot + place * FlightRing.slotWords)
        let kind = unsafe UInt8(truncatingIfNeeded: cells[2].load(ordering: .relaxed))
        return FlightEvent.Kind(rawValue: kind)?.endsQuery ?? false
    }

    /// The slot's words and then those of its tail, as far as the name reaches.
    private func words(of number: UInt64) -> [UInt64]? {
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe memory.cells + (FlightRing.firstSlot + place * FlightRing.slotWords)
        guard unsafe cells[0].load(ordering: .acquiring) == 2 &* number &+ 2 else { return nil }
        var words = [UInt64](repeating: 0, count: FlightRing.slotWords + FlightRing.tailWords)
        for index in 1..<FlightRing.slotWords { words[index] = unsafe cells[index].load(ordering: .relaxed) }
        if FlightSlot.nameBytes(words[3]) > FlightSlot.nameBytesInSlot {
            let tail = unsafe memory.cells + (FlightRing.firstTail + place * FlightRing.tailWords)
            for index in 0..<FlightRing.tailWords {
                words[FlightRing.slotWords + index] = unsafe tail[index].load(ordering: .relaxed)
            }
        }
        atomicMemoryFence(ordering: .acquiring)
        guard unsafe cells[0].load(ordering: .relaxed) == 2 &* number &+ 2 else { return nil }
        return words
    }
}
