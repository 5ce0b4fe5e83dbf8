// All parts of a cache key: everything that an answer depends on. A key without one of these would serve one network's
// or source's answer to another.

import DNSWire

/// Class of an answer's source, which decides its rank. Classes never mix: an entry is found only under its own.
package enum SourceClass: UInt8, Sendable, CaseIterable {
    case provider
    case system
}

/// Identifies the network on which an answer was learned. All networks share one table: entries in use evict unused
/// ones of other networks, and a hit costs nothing more. A busy network may evict the entries of another.
package struct Partition: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

/// The lower-case name of a key, in whole words so that it is hashed and compared eight bytes at a time. Invariant:
/// bytes after the name, up to the word border, are zero.
@safe struct FoldedName: ~Copyable {
    /// Room for the longest name. Not an `InlineArray`: a span of one of this size costs a copy
    /// of the whole (Swift 6.3). Not an array either, which costs several times as much to make.
    private let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 32)
    private(set) var byteCount = 0

    deinit { unsafe words.deallocate() }

    var span: Span<UInt64> {
        @_lifetime(borrow self) borrowing get {
            let span = unsafe Span(_unsafeStart: words, count: (byteCount + 7) / 8)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Sets the name from `count` bytes of `source` at `start`, in wire form, at most 255 bytes. Length bytes are at
    /// most 63, so the folding of A (65) to Z (90) leaves them unchanged.
    mutating func set(_ source: Span<UInt8>, from start: Int, count: Int) {
        precondition(count <= 255, "a name has at most 255 bytes")
        byteCount = count
        unsafe source.extracting(start..<(start + count)).withUnsafeBytes { unsafe $0.copyLowercased(to: words) }
    }
}

/// A key prepared for lookups; one instance is reused for each packet.
struct AnswerKey: ~Copyable {
    private(set) var hash: UInt64 = 0
    private(set) var name = FoldedName()
    /// The record type, and above it DO and CD: one word, compared at once.
    private(set) var kind: UInt32 = 0
    var partition: Partition
    /// The source class, which is not part of the hash: all classes of a question are looked up under one lock.
    var sourceClass = SourceClass.provider

    /// - Parameter source: contains the name in wire form, `count` bytes from `start`.
    mutating func set(
        _ source: Span<UInt8>, from start: Int, count: Int, type: RecordType, dnssec: DNSSECBits, hashing: NameHash
    ) {
        name.set(source, from: start, count: count)
        kind = AnswerKey.kind(type, dnssec)
        hash = hashing.hash(name.span, nameBytes: count, kind: kind)
    }

    @inline(__always)
    static func kind(_ type: RecordType, _ dnssec: DNSSECBits) -> UInt32 {
        UInt32(dnssec.rawValue) << 16 | UInt32(type.rawValue)
    }
}
