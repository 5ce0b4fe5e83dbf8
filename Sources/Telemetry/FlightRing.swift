// The last events of one thread, in memory of fixed size. One thread writes, any thread reads, without locks or
// allocation.

package import DNSWire
import Synchronization

/// The events that the recorder takes.
package enum FlightScope: UInt8, CaseIterable, AtomicRepresentable, Sendable {
    case all
    /// Clients' queries that failed: refused, dropped, limited, or answered with an error. NXDOMAIN is no error.
    case failures
    case off
}

/// Invariant: event n (from 0) is in slot n % capacity. Each slot has a sequence lock (Lameter 2005): its first word is
/// 2n + 1 while the event is written, and 2n + 2 when it is complete. If a reader finds the same even word before and
/// after it copies the slot, the copy is one event. Otherwise a later event is replacing it.
///
/// A slot has 128 bytes; unused parts are not written. The second half holds IPv6 address, upstream and bytes 25 to 72
/// of the name. The rest of a longer name is in a separate tail.
@safe package final class FlightRing: Sendable {
    /// Events of a ring: a few seconds of a busy resolver, or a day of a quiet one.
    package static let capacity = 10_000
    static let slotWords = 16
    /// Words for the part of a name beyond 72 bytes. The longest name has 254 bytes without its root.
    static let tailWords = 23
    /// The count has a cache line of its own; the slots follow, then the tails.
    static let firstSlot = 8
    static let firstTail = firstSlot + capacity * slotWords
    static let wordCount = firstTail + capacity * tailWords

    let memory = FlightMemory(words: wordCount)
    /// Set by the main thread, see `FlightRecords.setScope`.
    let scope = Atomic(FlightScope.all)

    package init() {}

    /// Number of events since the start, including those that were replaced.
    package var count: UInt64 { unsafe memory.cells[0].load(ordering: .acquiring) }

    /// Records an event. Called only by the thread that owns the ring.
    package func record(_ slot: FlightSlot, address: Address? = nil, about name: Name? = nil) {
        guard takes(slot.what) else { return }
        guard let name else {
            return unsafe write(
                slot, address: address, UnsafeRawBufferPointer(start: nil, count: 0), from: 0, nameBytes: -1)
        }
        unsafe name.wire.withUnsafeBytes { raw in
            unsafe write(slot, address: address, raw, from: 0, nameBytes: raw.count - 1)
        }
    }

    /// Records a query with name and type from the client's packet, if they can be parsed. Called only by the thread
    /// that owns the ring.
    package func record(
        _ query: ServedQuery, atNanoseconds nanoseconds: UInt64, microseconds: UInt64, in packet: Span<UInt8>
    ) {
        guard takes(query.what) else { return }
        let question = QuestionBounds(in: packet)
        let slot = FlightSlot(
            query, type: question?.type.rawValue, atNanoseconds: nanoseconds, microseconds: microseconds)
        unsafe packet.withUnsafeBytes { raw in
            unsafe write(
                slot, address: query.client, raw, from: Header.byteCount, nameBytes: (question?.nameBytes ?? 0) - 1)
        }
    }

    /// - Parameter what: the value of word 2 in the slot, for which the type does not matter.
    @inline(__always)
    private func takes(_ what: UInt64) -> Bool {
        switch scope.load(ordering: .relaxed) {
        case .all: true
        case .failures: FlightSlot.isFailedQuery(what)
        case .off: false
        }
    }

    /// Inlined explicitly, as are its parts, because every cache hit calls it.
    ///
    /// - Parameter nameBytes: length without the root; negative if there is no name.
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

    /// Writes a name, eight bytes at a time; the rest of the last word is 0.
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
        let value = unsafe text.lastWord(at: start &+ done, bytes: bytes &- done)
        unsafe cell(word, cells, place).pointee.store(value, ordering: .relaxed)
    }

    /// Returns the cell for a word of the name: three in the slot's first half, six in the second, the rest in the
    /// tail.
    @inline(__always)
    private func cell(
        _ word: Int, _ cells: UnsafeMutablePointer<Atomic<UInt64>>, _ place: Int
    ) -> UnsafeMutablePointer<Atomic<UInt64>> {
        if word < 3 { return unsafe cells + (5 + word) }
        if word < 9 { return unsafe cells + (7 + word) }
        return unsafe memory.cells + (FlightRing.firstTail + place * FlightRing.tailWords + word - 9)
    }

    /// Returns an event, from any thread; nil if it was replaced or is not written yet.
    package func event(_ number: UInt64) -> FlightEvent? { words(of: number).flatMap(FlightEvent.init) }

    /// The length of a name and the words of it in a slot's first half, to search for events.
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

        /// This bit is set in both operands, so that the comparison ignores case.
        fileprivate static let caseBits: UInt64 = 0x2020_2020_2020_2020
    }

    /// Returns false if the event is certainly about another name: length or first bytes differ. A cheap test.
    func mayBe(_ number: UInt64, about name: NameSketch) -> Bool {
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe memory.cells + (FlightRing.firstSlot + place * FlightRing.slotWords)
        guard unsafe FlightSlot.nameBytes(cells[3].load(ordering: .relaxed)) == name.bytes else { return false }
        // Words beyond the name's end may hold data of earlier events.
        return (0..<min((name.bytes + 7) / 8, 3)).allSatisfy { word in
            let found = unsafe cells[5 + word].load(ordering: .relaxed)
            return (found ^ name.words[word]) & ~NameSketch.caseBits == 0
        }
    }

    /// Whether the event that is now in this slot ends a query. A cheap test.
    func endsQuery(_ number: UInt64) -> Bool {
        let place = Int(number % UInt64(FlightRing.capacity))
        let cells = unsafe memory.cells + (FlightRing.firstSlot + place * FlightRing.slotWords)
        let kind = unsafe UInt8(truncatingIfNeeded: cells[2].load(ordering: .relaxed))
        return FlightEvent.Kind(rawValue: kind)?.endsQuery ?? false
    }

    /// Returns the words of the slot, then those of its tail if the name needs it.
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
