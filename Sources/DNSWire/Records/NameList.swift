// A static list of up to some millions of names, each for itself, for the names below it, or both. It holds keyed
// hashes and line numbers in place of the names: 13 bytes for each.
//
// Invariants: `hashes` ascend strictly; `lines[i]` belongs to `hashes[i]`; bucket b, the hashes whose first
// `bucketBits` bits are b, is `starts[b]..<starts[b + 1]`. A hash ends in two bits for the scope; the other 62 are a
// name's digest, so that a name matches a list of a million by accident once in 10^12 names. Clients cannot aim at one,
// since each process has its own key.

package struct NameList: Equatable, Sendable {
    /// What an entry is about.
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
        /// The first line of the file that has it, from 1.
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

    package static let empty = NameList(Builder())

    package var count: Int { hashes.count }

    /// Bytes of its arrays.
    package var sizeBytes: Int { hashes.count * 12 + starts.count * 4 }

    /// Returns the entry that applies to a question's name and consists of it or of a name above it; nil without one.
    /// An exact entry precedes others.
    ///
    /// - Parameters:
    ///   - name: the question's name or an ancestor of it.
    ///   - isWhole: it is the question's name.
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

    /// Collects the names of a list.
    package struct Builder {
        fileprivate var entries: [(hash: UInt64, line: UInt32)] = []

        package init() {}

        package var count: Int { entries.count }

        /// - Parameters:
        ///   - digest: of the name.
        ///   - line: at most 2^32 - 1.
        package mutating func add(_ digest: UInt64, _ scope: Scope, line: Int) {
            entries.append((digest & ~NameList.scopeMask | scope.rawValue, UInt32(clamping: line)))
        }
    }

    package init(_ builder: consuming Builder) {
        var entries = builder.entries
        entries.sort { ($0.hash, $0.line) < ($1.hash, $1.line) }
        var hashes: [UInt64] = []
        var lines: [UInt32] = []
        hashes.reserveCapacity(entries.count)
        lines.reserveCapacity(entries.count)
        for entry in entries where hashes.last != entry.hash {
            hashes.append(entry.hash)
            lines.append(entry.line)
        }
        (self.hashes, self.lines) = (hashes, lines)
        bucketBits = max(0, UInt64.bitWidth - (hashes.count / 8).leadingZeroBitCount)
        var starts: [UInt32] = [0]
        starts.reserveCapacity(1 << bucketBits + 1)
        for (index, hash) in hashes.enumerated() {
            let bucket = NameList.bucket(of: hash, bucketBits)
            while starts.count <= bucket { starts.append(UInt32(index)) }
        }
        while starts.count <= 1 << bucketBits { starts.append(UInt32(hashes.count)) }
        self.starts = starts
    }
}
