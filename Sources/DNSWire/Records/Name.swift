// A valid domain name in wire form: labels of 1 to 63 bytes, at most 255 bytes with the root label, no compression.

package struct Name: Sendable {
    /// Length-prefixed labels, ending with the root label (RFC 1035 section 3.1). Preserves letter case.
    package let wire: [UInt8]
    /// Hash of the lowercased wire form. Made once, because a name is looked up in many tables.
    private let hash: Int

    /// The hash for tables outside the library's: keyed by the process, so it must not be stored.
    package var digest: UInt64 { UInt64(bitPattern: Int64(hash)) }

    package static let root = Name(unchecked: [0])
    /// Maximum size of the wire form (RFC 1035 section 2.3.4).
    package static let maxWireBytes = 255
    package static let maxLabelBytes = 63

    /// Takes bytes that this module has already validated.
    init(unchecked wire: [UInt8]) {
        self.wire = wire
        hash = Name.hash(of: wire)
    }

    /// Parses presentation form: "www.example.com", with or without the final dot; `\.` and `\DDD` as in RFC 1035
    /// section 5.1. Returns nil for an empty label, an oversized label or name, or a non-ASCII character.
    package init?(_ text: String) {
        if text == "." {
            self = .root
            return
        }
        // The place of the label's length, which is written at its end.
        var start = 0
        var wire: [UInt8] = [0]
        wire.reserveCapacity(text.utf8.count + 2)
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte < 0x80 else { return nil }
            if byte == UInt8(ascii: ".") {
                guard Name.endLabel(at: start, in: &wire) else { return nil }
                start = wire.count - 1
            } else if byte == UInt8(ascii: "\\") {
                guard let escaped = Name.unescape(&bytes) else { return nil }
                wire.append(escaped)
            } else {
                wire.append(byte)
            }
        }
        let isEnded = start == wire.count - 1 && start > 0
        guard isEnded || Name.endLabel(at: start, in: &wire), wire.count <= Name.maxWireBytes else { return nil }
        self.init(unchecked: wire)
    }

    /// Parses one uncompressed name that fills `bytes`; returns nil otherwise.
    package init?(wire bytes: some Collection<UInt8>) {
        guard bytes.count <= Name.maxWireBytes else { return nil }
        let wire = Array(bytes)
        var at = 0
        while at < wire.count, wire[at] != 0 {
            guard wire[at] <= Name.maxLabelBytes else { return nil }
            at += 1 + Int(wire[at])
        }
        guard at == wire.count - 1 else { return nil }
        self.init(unchecked: wire)
    }

    package var isRoot: Bool { wire.count == 1 }

    package var isSingleLabel: Bool { !isRoot && wire.count == 2 + Int(wire[0]) }

    /// The labels without length bytes and without the root label.
    package var labels: [ArraySlice<UInt8>] {
        var labels: [ArraySlice<UInt8>] = []
        var at = 0
        while wire[at] != 0 {
            let end = at + 1 + Int(wire[at])
            labels.append(wire[(at + 1)..<end])
            at = end
        }
        return labels
    }

    /// A number for the last label, to rule out with one comparison that the name ends in another one: its length, and
    /// its last seven bytes in lower case.
    package var topLevelCode: UInt64 {
        var (label, end) = (0, 0)
        while wire[end] != 0 { (label, end) = (end, end + 1 + Int(wire[end])) }
        var code = UInt64(wire[label])
        for byte in wire[max(label + 1, end - 7)..<max(label + 1, end)] { code = code << 8 | UInt64(byte.lowercased) }
        return code
    }

    /// The name without its first label; nil for the root.
    package var parent: Name? { isRoot ? nil : Name(unchecked: Array(wire[(1 + Int(wire[0]))...])) }

    /// Returns whether the name is one of these or below one. Takes one set lookup per label, regardless of the set's
    /// size.
    package func isWithin(anyOf ancestors: Set<Name>) -> Bool {
        guard !ancestors.isEmpty else { return false }
        var next: Name? = self
        while let name = next {
            if ancestors.contains(name) { return true }
            next = name.parent
        }
        return false
    }

    /// The first label as a name; the root for the root.
    package var firstLabel: Name { isRoot ? self : Name(unchecked: wire[...Int(wire[0])] + [0]) }

    /// Returns the name below another one; nil if it has more than 255 bytes.
    package func appending(_ parent: Name) -> Name? {
        let whole = wire.dropLast() + parent.wire
        return whole.count <= Name.maxWireBytes ? Name(unchecked: Array(whole)) : nil
    }

    /// Returns the name's last `count` labels, or the name itself if it has no more.
    package func last(_ count: Int) -> Name {
        var at = 0
        for _ in 0..<max(0, labelCount - count) { at += 1 + Int(wire[at]) }
        return at == 0 ? self : Name(unchecked: Array(wire[at...]))
    }

    /// The number of labels without the root label.
    private var labelCount: Int {
        var (at, count) = (0, 0)
        while wire[at] != 0 {
            at += 1 + Int(wire[at])
            count += 1
        }
        return count
    }

    /// Returns true if the name equals `ancestor` or is below it.
    package func isWithin(_ ancestor: Name) -> Bool {
        let skipped = wire.count - ancestor.wire.count
        guard skipped >= 0 else { return false }
        var at = 0
        while at < skipped {
            at += 1 + Int(wire[at])
        }
        guard at == skipped else { return false }
        return ancestor.wire.indices.allSatisfy { wire[at + $0].lowercased == ancestor.wire[$0].lowercased }
    }

    /// Writes the length of the last label, and the next one's place or the root.
    private static func endLabel(at start: Int, in wire: inout [UInt8]) -> Bool {
        let count = wire.count - start - 1
        guard 1...maxLabelBytes ~= count else { return false }
        wire[start] = UInt8(count)
        wire.append(0)
        return true
    }

    private static func unescape(_ bytes: inout String.UTF8View.Iterator) -> UInt8? {
        guard let first = bytes.next(), first < 0x80 else { return nil }
        guard first.isDigit else { return first }
        guard let second = bytes.next(), let third = bytes.next(), second.isDigit, third.isDigit else {
            return nil
        }
        let value = Int(first - 48) * 100 + Int(second - 48) * 10 + Int(third - 48)
        return UInt8(exactly: value)
    }
}

/// Compares names without regard to ASCII case (RFC 4343).
extension Name: Hashable {
    package static func == (left: Name, right: Name) -> Bool {
        // Most equal names have the same letter case.
        left.hash == right.hash
            && (left.wire == right.wire
                || left.wire.count == right.wire.count
                    && zip(left.wire, right.wire).allSatisfy { $0.lowercased == $1.lowercased })
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The hash in a table: `hash` is keyed, so that it only has to differ from table to table. The library's way is
    /// to hash the hash again, which costs more than the rest of a look-up.
    package func _rawHashValue(seed: Int) -> Int { QuickHash.value(of: digest, seed: seed) }

    /// Returns the hash of a wire form, keyed by the process, as clients choose the names. Calls the hasher once, since
    /// a call costs more than the bytes.
    private static func hash(of wire: [UInt8]) -> Int {
        unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: (maxWireBytes + 7) / 8) { words in
            guard let start = words.baseAddress else { preconditionFailure("memory has an address") }
            unsafe wire.withUnsafeBytes { unsafe $0.copyLowercased(to: start) }
            return unsafe hash(ofLowercased: UnsafeRawBufferPointer(start: start, count: wire.count))
        }
    }

    private static func hash(ofLowercased wire: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        unsafe hasher.combine(bytes: wire)
        return hasher.finalize()
    }

    /// Returns the digest of a name without creating the name.
    ///
    /// - Parameter wire: a valid wire form in lower case.
    package static func digest(ofLowercased wire: [UInt8]) -> UInt64 {
        UInt64(bitPattern: Int64(unsafe wire.withUnsafeBytes { unsafe hash(ofLowercased: $0) }))
    }
}

/// The presentation form without the final dot (the root is "."), escaped for logs and JSON.
extension Name: CustomStringConvertible {
    package var description: String {
        guard !isRoot else { return "." }
        return labels.map(Name.escape).joined(separator: ".")
    }

    private static func escape(_ label: ArraySlice<UInt8>) -> String {
        var text = ""
        for byte in label {
            if byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\"") {
                text += "\\"
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else if byte > 0x20 && byte < 0x7F {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "\\" + byte.digits(3)
            }
        }
        return text
    }
}

extension UInt8 {
    /// Lowers ASCII letters only (RFC 4343).
    @inlinable
    package var lowercased: UInt8 {
        self >= 0x41 && self <= 0x5A ? self | 0x20 : self
    }

    @inlinable
    package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// The value of a hexadecimal digit; nil for other characters.
    package var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// An order that is the same in every process, for results that come out of a table. It is not the canonical order of
/// DNSSEC.
extension Name: Comparable {
    package static func < (left: Name, right: Name) -> Bool {
        left.wire.lazy.map(\.lowercased).lexicographicallyPrecedes(right.wire.lazy.map(\.lowercased))
    }
}
