// A static list of up to some millions of names, each for itself, for the names below it, or both. It holds keyed
// hashes and line numbers in place of the names: 13 bytes for each.
//
// Invariants: `hashes` ascend strictly; `lines[i]` belongs to `hashes[i]`; bucket b, the hashes whose first
// `bucketBits` bits are b, is `starts[b]..<starts[b + 1]`. A hash ends in two bits for the scope; the other 62 are a
// name's digest, so that a name matches a list of a million by accident once in 10^12 names. Clients cannot aim at one,
// since each process has its own key.

package struct NameList: Sendable {
    /// The names that an entry covers.
    package enum Scope: UInt64, Sendable {
        /// The name alone.
        case exact = 0
        /// The name and all names below it.
        case tree = 1
        /// All names below it.
        case below = 2
    }

    package struct Entry: Equatable, Sendable {
        package let scope: Scope
        /// The first line of the file that has the entry, counted from 1.
        package let line: Int

        package init(scope: Scope, line: Int) {
            self.scope = scope
            self.line = line
        }
    }

    private let hashes: [UInt64]
    private let lines: [UInt32]
    private let starts: [UInt32]
    private let bucketBits: Int
    /// The digest of the file's bytes, because `hashes` differ in every process.
    package let fileDigest: StableDigest

    package static let empty = NameList(Builder())

    package var count: Int { hashes.count }
    package var isEmpty: Bool { hashes.isEmpty }

    /// Size of the list's arrays.
    package var sizeBytes: Int { hashes.count * 12 + starts.count * 4 }

    /// Returns the entry for this name that applies to a question's name; nil without one. An exact entry precedes
    /// others.
    ///
    /// - Parameters:
    ///   - name: the question's name or an ancestor of it.
    ///   - isWhole: `name` is the question's name.
    package func entry(at name: Name, isWhole: Bool) -> Entry? {
        let digest = name.digest & ~NameList.scopeMask
        let bucket = NameList.bucket(of: digest, bucketBits)
        let end = Int(starts[bucket + 1])
        var at = Int(starts[bucket])
        // A bucket holds about eight hashes.
        while at < end, hashes[at] < digest { at += 1 }
        while at < end, hashes[at] & ~NameList.scopeMask == digest {
            let scope = Scope(rawValue: hashes[at] & NameList.scopeMask)
            if let scope, scope == .tree || (scope == .exact) == isWhole {
                return Entry(scope: scope, line: Int(lines[at]))
            }
            at += 1
        }
        return nil
    }

    private static func bucket(of hash: UInt64, _ bits: Int) -> Int { Int(hash >> (UInt64.bitWidth - bits)) }

    private static let scopeMask: UInt64 = 3

    /// Collects the names of a list, in pieces: an array that grows would take thrice the memory for a moment.
    package struct Builder {
        fileprivate typealias Piece = [(hash: UInt64, line: UInt32)]

        /// The pieces; all but the last are full.
        fileprivate var pieces: [Piece] = []
        private static let pieceCount = 1 << 14
        /// The digest of the bytes that the names are from.
        package var fileDigest = StableDigest()

        package init() {}

        package var count: Int { max(0, pieces.count - 1) * Builder.pieceCount + (pieces.last?.count ?? 0) }

        /// - Parameters:
        ///   - digest: the digest of the name.
        ///   - line: at most 2^32 - 1.
        package mutating func add(_ digest: UInt64, _ scope: Scope, line: Int) {
            if pieces.last.map({ $0.count == Builder.pieceCount }) ?? true {
                pieces.append([])
                pieces[pieces.count - 1].reserveCapacity(Builder.pieceCount)
            }
            let hash = digest & ~NameList.scopeMask | scope.rawValue
            pieces[pieces.count - 1].append((hash, UInt32(clamping: line)))
        }
    }

    /// Sorts by buckets first, in linear time. Hashes are evenly distributed, so that each bucket holds few.
    package init(_ builder: consuming Builder) {
        let count = builder.count
        fileDigest = builder.fileDigest
        bucketBits = max(0, UInt64.bitWidth - (count / 8).leadingZeroBitCount)
        var starts = [UInt32](repeating: 0, count: 1 << bucketBits + 1)
        for piece in builder.pieces {
            for entry in piece { starts[NameList.bucket(of: entry.hash, bucketBits) + 1] += 1 }
        }
        for bucket in 1..<starts.count { starts[bucket] += starts[bucket - 1] }
        var hashes = [UInt64](repeating: 0, count: count)
        var lines = [UInt32](repeating: 0, count: count)
        var ends = starts
        for piece in builder.pieces {
            for (hash, line) in piece {
                let bucket = NameList.bucket(of: hash, bucketBits)
                NameList.insert(hash, line, &hashes, &lines, Int(starts[bucket])..<Int(ends[bucket]))
                ends[bucket] += 1
            }
        }
        let kept = NameList.removeRepeats(&hashes, &lines, &starts)
        if kept < count { (hashes, lines) = (Array(hashes[..<kept]), Array(lines[..<kept])) }
        (self.hashes, self.lines, self.starts) = (hashes, lines, starts)
    }

    /// Inserts an entry into a sorted range, behind equal ones: the lines of a builder ascend.
    private static func insert(
        _ hash: UInt64, _ line: UInt32, _ hashes: inout [UInt64], _ lines: inout [UInt32], _ range: Range<Int>
    ) {
        var at = range.upperBound
        while at > range.lowerBound, hashes[at - 1] > hash {
            (hashes[at], lines[at]) = (hashes[at - 1], lines[at - 1])
            at -= 1
        }
        (hashes[at], lines[at]) = (hash, line)
    }

    /// Moves the first of equal entries to the front.
    ///
    /// - Returns: the number of different entries.
    private static func removeRepeats(
        _ hashes: inout [UInt64], _ lines: inout [UInt32], _ starts: inout [UInt32]
    ) -> Int {
        var (from, kept) = (0, 0)
        for bucket in 1..<starts.count {
            let end = Int(starts[bucket])
            while from < end {
                if kept == 0 || hashes[kept - 1] != hashes[from] {
                    (hashes[kept], lines[kept]) = (hashes[from], lines[from])
                    kept += 1
                }
                from += 1
            }
            starts[bucket] = UInt32(kept)
        }
        return kept
    }
}

/// Compares the bytes of the files by their digest, since millions of entries take milliseconds, and the ends of lists
/// that no file made.
extension NameList: Equatable {
    package static func == (left: NameList, right: NameList) -> Bool {
        left.fileDigest == right.fileDigest && left.count == right.count && left.hashes.first == right.hashes.first
            && left.hashes.last == right.hashes.last
    }
}
