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
        if let name = event.name {
            write(FlightSlot(event), address: event.address, name.wire.span, from: 0, bytes: name.wire.count - 1)
        } else {
            let nothing: [UInt8] = []
            write(FlightSlot(event), address: event.address, nothing.span, from: 0, bytes: nil)
        }
    }

    /// By the one thread that owns it: with name and type as they stand in a client's packet, if they can be read.
    package func record(
        _ query: ServedQuery, atNanoseconds nanoseconds: UInt64, microseconds: UInt64, in packet: Span<UInt8>
    ) {
        let question = FlightRing.question(in: packet)
        var slot = FlightSlot(query, atNanoseconds: nanoseconds, microseconds: microseconds)
        if let question { slot.type = UInt64(question.type) }
        write(
            slot, address: query.client, packet, from: Header.byteCount,
            bytes: question?.nameBytes)
    }

    /// Where the question's name ends, its root left out, and the type behind it.
    private static func question(in packet: Span<UInt8>) -> (nameBytes: Int, type: UInt16)? {
        guard packet.count > Header.byteCount + 4, packet[4] == 0, packet[5] == 1 else { return nil }
        var at = Header.byteCount
        let end = min(packet.count - 4, Header.byteCount + Name.maxWireBytes)
        while at < end {
            let length = Int(packet[at])
            if length == 0 {
                return (at - Header.byteCount, UInt16(packet[at + 1]) << 8 | UInt16(packet[at + 2]))
            }
            guard length <= Name.maxLabelBytes else { return nil }
            at += 1 + length
        }
        return nil
    }

    private func write(
        _ slot: FlightSlot, address: Address?, _ text: Span<UInt8>, from start: Int, bytes nameBytes: Int?
    ) {
        let number = unsafe memory.cells[0].load(ordering: .relaxed)
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe memory.cells + (FlightRing.firstSlot + place * FlightRing.slotWords)
        unsafe cells[0].store(2 &* number &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        var flags = slot.flags | (nameBytes == nil ? 0 : FlightSlot.hasName)
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
        unsafe cells[1].store(slot.nanoseconds, ordering: .relaxed)
        unsafe cells[2].store(slot.what, ordering: .relaxed)
        unsafe cells[3].store(
            slot.duration | UInt64(nameBytes ?? 0) << 16 | flags << 24, ordering: .relaxed)
        unsafe writeName(text, from: start, bytes: nameBytes ?? 0, into: cells, place)
        unsafe cells[0].store(2 &* number &+ 2, ordering: .releasing)
        unsafe memory.cells[0].store(number &+ 1, ordering: .releasing)
    }

    /// Eight bytes at a time; what a word has beyond the name is 0.
    private func writeName(
        _ text: Span<UInt8>, from start: Int, bytes: Int, into cells: UnsafeMutablePointer<Atomic<UInt64>>, _ place: Int
    ) {
        guard bytes > 0 else { return }
        unsafe text.withUnsafeBytes { raw in
            var (done, word) = (0, 0)
            while done < bytes {
                let value = unsafe FlightRing.word(raw, at: start + done, atMost: bytes - done)
                unsafe cell(word, cells, place).pointee.store(value, ordering: .relaxed)
                done += 8
                word += 1
            }
        }
    }

    private static func word(_ raw: UnsafeRawBufferPointer, at offset: Int, atMost bytes: Int) -> UInt64 {
        if offset + 8 <= raw.count {
            let value = unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            return bytes >= 8 ? value : value & ((1 << UInt64(8 * bytes)) - 1)
        }
        var value: UInt64 = 0
        for index in 0..<min(8, bytes) { unsafe value |= UInt64(raw[offset + index]) << UInt64(8 * index) }
        return value
    }

    /// Of a name's words: three in the slot's first half, six in its second one, the rest apart.
    private func cell(
        _ word: Int, _ cells: UnsafeMutablePointer<Atomic<UInt64>>, _ place: Int
    ) -> UnsafeMutablePointer<Atomic<UInt64>> {
        if word < 3 { return unsafe cells + (5 + word) }
        if word < 9 { return unsafe cells + (7 + word) }
        return unsafe memory.cells + (FlightRing.firstTail + place * FlightRing.tailWords + word - 9)
    }

    /// By any thread; nil for an event that is not there any more, or not yet.
    package func event(_ number: UInt64) -> FlightEvent? { words(of: number).flatMap(FlightEvent.init) }

    /// False: it is about no name of this length. A look that costs little.
    func mayBe(_ number: UInt64, about name: Name) -> Bool {
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe memory.cells + (FlightRing.firstSlot + place * FlightRing.slotWords)
        return unsafe FlightSlot.nameBytes(cells[3].load(ordering: .relaxed)) == name.wire.count - 1
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
