// Writes DNS messages for tests, from RFC 1035 section 4, with names compressed in all shapes: not at all, by the name,
// by a suffix, by a chain of pointers, and with letters in another case. Knows where its fields are.

import TestSupport

struct MessageWriter {
    /// A part of record data.
    enum Piece {
        case bytes([UInt8])
        /// A name in wire form.
        case name([UInt8])
    }

    struct Record {
        var owner: [UInt8]
        var type: UInt16
        var recordClass: UInt16 = 1
        var ttl: UInt32
        var data: [Piece]
    }

    private(set) var bytes: [UInt8] = []
    /// The positions of the names' first bytes, the pointers, the TTLs and the lengths of data.
    private(set) var names: [Int] = []
    private(set) var pointers: [Int] = []
    private(set) var ttls: [Int] = []
    private(set) var lengths: [Int] = []
    /// Names and their ends in lower case, and their positions.
    private var known: [(name: [UInt8], at: Int)] = []
    /// Per cent of names that get a pointer where one is possible, and of names in random letter case.
    private let (compressed, mixed): (Int, Int)

    init(compressed: Int, mixed: Int) {
        self.compressed = compressed
        self.mixed = mixed
    }

    mutating func append(_ number: UInt16) { bytes += [UInt8(number >> 8), UInt8(number & 0xFF)] }

    mutating func append(name: [UInt8], _ random: inout SeededRandom) {
        names.append(bytes.count)
        let mixes = random.chance(mixed)
        var rest = name[...]
        while let length = rest.first, length > 0 {
            let end = rest.lowercase
            if random.chance(compressed), let target = known.filter({ $0.name == end }).randomElement(using: &random) {
                pointers.append(bytes.count)
                append(0xC000 | UInt16(target.at))
                return
            }
            if bytes.count < 0x4000, known.count < 64 { known.append((end, bytes.count)) }
            let label = rest.prefix(1 + Int(length))
            bytes += mixes ? label.map { random.chance(50) ? $0.otherCase : $0 } : Array(label)
            rest = rest.dropFirst(1 + Int(length))
        }
        bytes.append(0)
    }

    mutating func append(_ record: Record, _ random: inout SeededRandom) {
        append(name: record.owner, &random)
        append(record.type)
        append(record.recordClass)
        ttls.append(bytes.count)
        append(UInt16(record.ttl >> 16))
        append(UInt16(record.ttl & 0xFFFF))
        let length = bytes.count
        lengths.append(length)
        append(0)
        for piece in record.data {
            switch piece {
            case .bytes(let data): bytes += data
            case .name(let name): append(name: name, &random)
            }
        }
        let count = UInt16(truncatingIfNeeded: bytes.count - length - 2)
        bytes[length] = UInt8(count >> 8)
        bytes[length + 1] = UInt8(count & 0xFF)
    }
}

extension SeededRandom {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }
}

extension ArraySlice<UInt8> {
    fileprivate var lowercase: [UInt8] { map { (65...90).contains($0) ? $0 + 32 : $0 } }
}

extension UInt8 {
    fileprivate var otherCase: UInt8 {
        switch self {
        case 65...90: self + 32
        case 97...122: self - 32
        default: self
        }
    }
}
