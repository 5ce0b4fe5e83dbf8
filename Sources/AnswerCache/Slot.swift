// One cached answer: small facts in place, and one allocation that holds folded name, TTL offsets and body in a row.
// A slot is plain memory; the table that holds it frees its storage.

import DNSWire

@unsafe struct Slot {
    let hash: UInt64
    var storage: UnsafeMutableRawPointer?
    private let storedAtMilliseconds: Int64
    let lifetimeSeconds: UInt32
    private let partition: UInt32
    private let type: UInt16
    let code: UInt16
    let answerCount: UInt16
    let authorityCount: UInt16
    private let bodyBytes: UInt16
    private let nameBytes: UInt8
    private let provenance: UInt8
    let isCut: Bool
    var wasUsed = false
    /// Neighbours in the queue by age; `newer` links the free list when the slot is empty.
    var newer = UInt32.max
    var older = UInt32.max

    init(
        _ answer: borrowing RenderedAnswer, lifetimeSeconds: UInt32, key: borrowing AnswerKey,
        storedAtMilliseconds: Int64
    ) {
        unsafe hash = key.hash
        unsafe self.storedAtMilliseconds = storedAtMilliseconds
        unsafe self.lifetimeSeconds = lifetimeSeconds
        unsafe partition = key.partition.rawValue
        unsafe provenance = key.provenance.rawValue
        unsafe type = key.type
        unsafe code = answer.responseCode.rawValue
        unsafe answerCount = answer.answerCount
        unsafe authorityCount = answer.authorityCount
        unsafe isCut = answer.isCut
        unsafe bodyBytes = UInt16(answer.body.count)
        unsafe nameBytes = UInt8(key.name.byteCount)
        unsafe storage = .allocate(byteCount: storageBytes, alignment: 8)
        unsafe write(key.name.span, answer)
    }

    private func write(_ name: Span<UInt64>, _ answer: borrowing RenderedAnswer) {
        unsafe name.withUnsafeBytes { unsafe nameStorage.copyMemory(from: $0) }
        unsafe answer.ttlOffsets.span.withUnsafeBytes { unsafe offsetStorage.copyMemory(from: $0) }
        unsafe answer.body.span.withUnsafeBytes { unsafe bodyStorage.copyMemory(from: $0) }
    }

    func matches(_ key: borrowing AnswerKey) -> Bool {
        guard unsafe hash == key.hash, unsafe type == key.type, unsafe provenance == key.provenance.rawValue else {
            return false
        }
        guard unsafe partition == key.partition.rawValue, unsafe Int(nameBytes) == key.name.byteCount else {
            return false
        }
        let name = unsafe UnsafeRawBufferPointer(nameStorage).bindMemory(to: UInt64.self)
        let asked = key.name.span
        for position in asked.indices where unsafe asked[position] != name[position] { return false }
        return true
    }

    /// Never negative: a clock that counts from boot does not run backwards.
    func ageMilliseconds(_ nowMilliseconds: Int64) -> Int64 { unsafe max(0, nowMilliseconds - storedAtMilliseconds) }

    var ttlOffsets: UnsafeBufferPointer<UInt16> {
        unsafe UnsafeBufferPointer(offsetStorage.bindMemory(to: UInt16.self))
    }

    var body: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(bodyStorage.bindMemory(to: UInt8.self))
    }

    /// What the entry takes of the limit: slot, index share, and the allocation with the allocator's own header and
    /// rounding (glibc: 8 bytes, to a multiple of 16, and 32 at least).
    var costBytes: Int {
        unsafe MemoryLayout<Slot>.stride + 8 + max(32, (storageBytes + 8 + 15) / 16 * 16)
    }

    // MARK: storage

    private var nameSpace: Int { unsafe (Int(nameBytes) + 7) / 8 * 8 }
    private var offsetSpace: Int { unsafe (Int(answerCount) + Int(authorityCount)) * 2 }
    private var storageBytes: Int { unsafe nameSpace + offsetSpace + Int(bodyBytes) }

    private var nameStorage: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: storage, count: nameSpace)
    }
    private var offsetStorage: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: storage.map { unsafe $0 + nameSpace }, count: offsetSpace)
    }
    private var bodyStorage: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(
            start: storage.map { unsafe $0 + nameSpace + offsetSpace }, count: Int(bodyBytes))
    }
}
