// One cached answer: small fields inline, and one allocation with folded name, TTL offsets, body, and extended error if
// there is one. A slot is plain memory; its table frees the storage.

import DNSWire

@unsafe struct Slot {
    let hash: UInt64
    var storage: UnsafeMutableRawPointer?
    private let storedAtMilliseconds: Int64
    let lifetimeSeconds: UInt32
    let partition: Partition
    /// The record type and bits, as in `AnswerKey`.
    private let kind: UInt32
    private let code: UInt16
    private let answerCount: UInt16
    private let authorityCount: UInt16
    private let bodyBytes: UInt16
    private let nameBytes: UInt8
    private var flags: Flags
    /// Replies since the last reset; saturates.
    private(set) var hits: UInt16
    /// Neighbours in the queue by age; `newer` links the free list when the slot is empty.
    var newer = UInt32.max
    var older = UInt32.max

    private struct Flags: OptionSet {
        let rawValue: UInt8

        static let isSystems = Flags(rawValue: 1)
        static let isCut = Flags(rawValue: 2)
        static let isNegative = Flags(rawValue: 4)
        static let wasUsed = Flags(rawValue: 8)
        static let refreshWasAsked = Flags(rawValue: 16)
        static let hitIsAwaited = Flags(rawValue: 32)
        static let hasError = Flags(rawValue: 64)
        static let isAuthentic = Flags(rawValue: 128)

        /// Flags of the entry that stay when its answer is replaced.
        static let marks: Flags = [.wasUsed, .refreshWasAsked, .hitIsAwaited]
    }

    init(
        _ answer: borrowing RenderedAnswer, lifetimeSeconds: UInt32, key: borrowing AnswerKey,
        storedAtMilliseconds: Int64, hits: UInt16
    ) {
        unsafe hash = key.hash
        unsafe self.storedAtMilliseconds = storedAtMilliseconds
        unsafe self.lifetimeSeconds = lifetimeSeconds
        unsafe partition = key.partition
        unsafe self.hits = hits
        unsafe flags = key.sourceClass == .system ? .isSystems : []
        if answer.isCut { unsafe flags.insert(.isCut) }
        if answer.isNegative { unsafe flags.insert(.isNegative) }
        let errorOption = answer.errorOption.span
        if !errorOption.isEmpty { unsafe flags.insert(.hasError) }
        if answer.isAuthentic { unsafe flags.insert(.isAuthentic) }
        unsafe kind = key.kind
        unsafe code = answer.responseCode.rawValue
        unsafe answerCount = answer.answerCount
        unsafe authorityCount = answer.authorityCount
        unsafe bodyBytes = UInt16(answer.body.count)
        unsafe nameBytes = UInt8(key.name.byteCount)
        unsafe storage = .allocate(byteCount: errorStart + errorOption.count, alignment: 8)
        unsafe write(key.name.span, answer)
    }

    private func write(_ name: Span<UInt64>, _ answer: borrowing RenderedAnswer) {
        unsafe answer.errorOption.span.withUnsafeBytes { error in
            unsafe UnsafeMutableRawBufferPointer(start: storage.map { unsafe $0 + errorStart }, count: error.count)
                .copyMemory(from: error)
        }
        unsafe name.withUnsafeBytes { unsafe nameStorage.copyMemory(from: $0) }
        unsafe answer.ttlOffsets.span.withUnsafeBytes { unsafe offsetStorage.copyMemory(from: $0) }
        unsafe answer.body.span.withUnsafeBytes { unsafe bodyStorage.copyMemory(from: $0) }
    }

    func matches(_ key: borrowing AnswerKey) -> Bool {
        guard unsafe hash == key.hash, unsafe kind == key.kind, unsafe sourceClass == key.sourceClass else {
            return false
        }
        guard unsafe partition == key.partition, unsafe Int(nameBytes) == key.name.byteCount else {
            return false
        }
        let name = unsafe UnsafeRawBufferPointer(nameStorage).bindMemory(to: UInt64.self)
        let asked = key.name.span
        for position in asked.indices where unsafe asked[position] != name[position] { return false }
        return true
    }

    // MARK: facts

    var sourceClass: SourceClass { unsafe flags.contains(.isSystems) ? .system : .provider }
    var isCut: Bool { unsafe flags.contains(.isCut) }
    var isNegative: Bool { unsafe flags.contains(.isNegative) }

    /// SIEVE's mark: a hit was counted since the hand passed.
    var wasUsed: Bool {
        get { unsafe flags.contains(.wasUsed) }
        set { if newValue { unsafe flags.insert(.wasUsed) } else { unsafe flags.remove(.wasUsed) } }
    }

    mutating func countHit() {
        unsafe wasUsed = true
        if unsafe hits < UInt16.max { unsafe hits += 1 }
    }

    mutating func takeHits() -> UInt16 {
        defer { unsafe hits = 0 }
        return unsafe hits
    }

    /// Returns true the first time, so that the refresh of this answer is requested once.
    mutating func askForRefresh() -> Bool {
        guard unsafe !flags.contains(.refreshWasAsked) else { return false }
        unsafe flags.insert(.refreshWasAsked)
        return true
    }

    mutating func awaitHit() { unsafe flags.insert(.hitIsAwaited) }

    /// Returns true once after `awaitHit`.
    mutating func takeAwaited() -> Bool {
        guard unsafe flags.contains(.hitIsAwaited) else { return false }
        unsafe flags.remove(.hitIsAwaited)
        return true
    }

    /// Takes over marks and neighbours; the old slot's storage is still to be freed.
    mutating func takePlace(of old: Slot) {
        unsafe flags.formUnion(old.flags.intersection(.marks))
        unsafe newer = old.newer
        unsafe older = old.older
    }

    func isStored(since milliseconds: Int64) -> Bool { unsafe storedAtMilliseconds >= milliseconds }

    /// The age of the answer, never negative: a clock that counts from boot does not go back.
    func ageMilliseconds(_ nowMilliseconds: Int64) -> Int64 { unsafe max(0, nowMilliseconds - storedAtMilliseconds) }

    /// Calls `use` with a body that is valid as long as the slot's storage.
    func withReplyBody<Result>(_ use: (borrowing Reply.Body) -> Result) -> Result {
        unsafe use(
            Reply.Body(
                code: ResponseCode(rawValue: code), answerCount: answerCount, authorityCount: authorityCount,
                isCut: isCut, isAuthentic: flags.contains(.isAuthentic),
                errorOption: Span(_unsafeElements: errorOption), bytes: Span(_unsafeElements: body),
                ttlOffsets: Span(_unsafeElements: ttlOffsets)))
    }

    private var ttlOffsets: UnsafeBufferPointer<UInt16> {
        unsafe UnsafeBufferPointer(offsetStorage.bindMemory(to: UInt16.self))
    }

    private var body: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(bodyStorage.bindMemory(to: UInt8.self))
    }

    /// The extended error as an option of EDNS, whose length is in its own bytes; empty: none.
    private var errorOption: UnsafeBufferPointer<UInt8> {
        guard unsafe flags.contains(.hasError), let start = unsafe storage.map({ unsafe $0 + errorStart }) else {
            return unsafe UnsafeBufferPointer(start: nil, count: 0)
        }
        let length = unsafe start.loadUnaligned(fromByteOffset: ExtendedError.lengthOffset, as: UInt16.self)
        let count = ExtendedError.codeOffset + Int(UInt16(bigEndian: length))
        return unsafe UnsafeBufferPointer(
            UnsafeMutableRawBufferPointer(start: start, count: count).bindMemory(to: UInt8.self))
    }

    /// The entry's share of the limit: slot, index share, and the allocation with the allocator's own header and
    /// rounding (glibc: 8 bytes, to a multiple of 16, and 32 at least).
    var costBytes: Int {
        unsafe MemoryLayout<Slot>.stride + 8 + max(32, (storageBytes + 8 + 15) / 16 * 16)
    }

    var times: KeptTimes {
        unsafe KeptTimes(storedAtMilliseconds: storedAtMilliseconds, lifetimeSeconds: lifetimeSeconds)
    }

    // MARK: storage

    private var nameSpace: Int { unsafe (Int(nameBytes) + 7) / 8 * 8 }
    private var offsetSpace: Int { unsafe (Int(answerCount) + Int(authorityCount)) * 2 }
    /// Where the extended error begins, at the end of the body.
    private var errorStart: Int { unsafe nameSpace + offsetSpace + Int(bodyBytes) }
    private var storageBytes: Int { unsafe errorStart + errorOption.count }

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

/// Fields for a walk over all entries.
extension Slot {
    var recordType: RecordType { RecordType(rawValue: UInt16(truncatingIfNeeded: unsafe kind)) }

    private var dnssec: DNSSECBits { DNSSECBits(rawValue: UInt8(truncatingIfNeeded: unsafe kind >> 16)) }

    /// The name in wire form and lower case; valid as long as the slot's storage.
    var foldedName: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: nameStorage[..<Int(nameBytes)])
    }

    /// A copy of the entry; nil for an empty slot.
    var entry: CachedEntry? {
        guard unsafe storage != nil, let name = unsafe Name(wire: foldedName) else { return nil }
        return unsafe CachedEntry(
            question: Question(name, recordType, dnssec: dnssec), partition: partition,
            sourceClass: sourceClass,
            answer: withReplyBody { unsafe RenderedAnswer(copying: $0, isNegative: isNegative) },
            storedAtMilliseconds: storedAtMilliseconds, lifetimeSeconds: lifetimeSeconds, hits: hits,
            refreshWasAsked: flags.contains(.refreshWasAsked))
    }
}
