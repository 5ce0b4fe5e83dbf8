// Hash index of a table whose entries have their own keys. It takes four bytes a cell, where a dictionary from
// `Question` to a number takes 48.

import DNSWire

/// Finds the number of an entry by its hash. The caller compares keys, so an equal hash never yields another key.
///
/// Invariants: open addressing with linear probing. A cell is 0 if it is empty; else its low half is the number of an
/// entry plus one, and its high half is the low half of the entry's hash, which gives its home. No cell between an
/// entry's home and its own cell is empty. At least a quarter of the cells are empty.
struct HashIndex {
    private var cells = [UInt32](repeating: 0, count: 16)
    private(set) var count = 0

    /// A number plus one, and a home, have 16 bits.
    static let maxNumber = Int(UInt16.max) - 1
    private static let maxCells = 1 << 16

    private var mask: Int { cells.count - 1 }

    /// Returns the number of the entry with this hash for which `isMeant` returns true; nil if there is none.
    func number(_ hash: Int, where isMeant: (Int) -> Bool) -> Int? {
        var at = hash & mask
        while case let cell = cells[at], cell != 0 {
            if HashIndex.hasHash(cell, hash), isMeant(HashIndex.number(cell)) { return HashIndex.number(cell) }
            at = (at + 1) & mask
        }
        return nil
    }

    /// Returns the numbers of all entries that may have this hash.
    func numbers(_ hash: Int) -> [Int] {
        var numbers: [Int] = []
        var at = hash & mask
        while case let cell = cells[at], cell != 0 {
            if HashIndex.hasHash(cell, hash) { numbers.append(HashIndex.number(cell)) }
            at = (at + 1) & mask
        }
        return numbers
    }

    /// - Parameter number: 0 to `maxNumber`, and not in the index yet.
    mutating func add(_ number: Int, hash: Int) {
        count += 1
        if count * 4 > cells.count * 3 { grow() }
        enter(UInt32(UInt16(truncatingIfNeeded: hash)) << 16 | UInt32(UInt16(number + 1)))
    }

    /// - Parameter number: in the index, with this hash.
    mutating func remove(_ number: Int, hash: Int) {
        var gap = hash & mask
        while HashIndex.number(cells[gap]) != number {
            precondition(cells[gap] != 0, "an entry that is not in the index")
            gap = (gap + 1) & mask
        }
        count -= 1
        // Later entries move up if this does not place them before their home.
        var at = (gap + 1) & mask
        while case let cell = cells[at], cell != 0 {
            if (at - HashIndex.home(cell)) & mask >= (at - gap) & mask {
                cells[gap] = cell
                gap = at
            }
            at = (at + 1) & mask
        }
        cells[gap] = 0
    }

    private mutating func grow() {
        precondition(cells.count < HashIndex.maxCells, "too many entries for the index")
        let former = exchange(&cells, with: [UInt32](repeating: 0, count: cells.count * 2))
        for cell in former where cell != 0 { enter(cell) }
    }

    private mutating func enter(_ cell: UInt32) {
        var at = HashIndex.home(cell) & mask
        while cells[at] != 0 { at = (at + 1) & mask }
        cells[at] = cell
    }

    private static func number(_ cell: UInt32) -> Int { Int(cell & 0xFFFF) - 1 }

    private static func home(_ cell: UInt32) -> Int { Int(cell >> 16) }

    private static func hasHash(_ cell: UInt32, _ hash: Int) -> Bool {
        UInt16(truncatingIfNeeded: cell >> 16) == UInt16(truncatingIfNeeded: hash)
    }
}

extension Question {
    /// The hash in a `HashIndex`: keyed by the process, as clients choose the names.
    var indexHash: Int { _rawHashValue(seed: 0) }
}

extension Name {
    var indexHash: Int { _rawHashValue(seed: 0) }
}
