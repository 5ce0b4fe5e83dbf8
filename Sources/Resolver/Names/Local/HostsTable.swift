// Parsed hosts files (hosts(5)), by name and by address. Unusable lines are skipped, as by other resolvers, and
// counted.

package import DNSWire

package struct HostsTable: Sendable {
    fileprivate struct Entry {
        let address: Address
        let line: UInt32
    }

    fileprivate struct Pointer {
        let name: Name
        let line: UInt32
    }

    /// The path of the file, for `explain`.
    package let path: String
    /// The names, each once per address.
    package private(set) var count = 0
    package private(set) var ignored = IgnoredLines()
    /// The digest of the text.
    private var digest = StableDigest()
    fileprivate private(set) var entriesOfName: [Name: [Entry]] = [:]
    /// The names of addresses, by the name of the PTR question.
    private var nameOfReverse: [Name: Pointer] = [:]
    /// Names between a local zone and a name of the file, which exist without data (RFC 8020).
    private var nonTerminals: Set<Name> = []

    /// The maximum number of addresses of a name, more than a reply over UDP holds. Each is compared with the others of
    /// its name.
    private static let maxAddresses = 64

    /// - Parameters:
    ///   - text: lines of "ADDRESS NAME [NAME ...]", "#" begins a comment (hosts(5)).
    ///   - maxNames: the number of names that are kept, counted from the top.
    ///   - zones: the local zones.
    package init(
        parsing text: [UInt8], path: String = "", maxNames: Int = Bounds.maxHostsEntries,
        zones: LocalZones = .none
    ) {
        self.path = path
        digest.add(text)
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard let first = words.first else { continue }
            guard let address = Address(String(decoding: first, as: UTF8.self)) else {
                ignored.add(line: index + 1, .address)
                continue
            }
            guard words.count > 1 else {
                ignored.add(line: index + 1, .noName)
                continue
            }
            for word in words.dropFirst() {
                guard let name = Name(String(decoding: word, as: UTF8.self)) else {
                    ignored.add(line: index + 1, .name)
                    continue
                }
                guard count < maxNames else {
                    ignored.stop(line: index + 1, .tooManyNames)
                    return
                }
                add(name, address, line: index + 1, zones)
            }
        }
    }

    private mutating func add(_ name: Name, _ address: Address, line: Int, _ zones: LocalZones) {
        let entries = entriesOfName[name] ?? []
        if !entries.contains(where: { $0.address == address }) {
            guard entries.count < HostsTable.maxAddresses else { return ignored.add(line: line, .tooManyAddresses) }
            count += 1
            entriesOfName[name, default: []].append(Entry(address: address, line: UInt32(clamping: line)))
        }
        let reverse = address.reverseName
        if nameOfReverse[reverse] == nil {
            nameOfReverse[reverse] = Pointer(name: name, line: UInt32(clamping: line))
        }
        guard !zones.isEmpty else { return }
        nonTerminals.insertAncestors(of: name, below: zones)
        nonTerminals.insertAncestors(of: reverse, below: zones)
    }

    /// Returns whether the file has lines, but none that can be used: another kind of file by mistake.
    package var isUnusable: Bool {
        count == 0 && !ignored.first.isEmpty && ignored.first.last?.reason != .tooManyNames
    }

    fileprivate func isNonTerminal(_ name: Name) -> Bool { nonTerminals.contains(name) }

    fileprivate func speaks(of name: Name) -> Bool { entriesOfName[name] != nil || nameOfReverse[name] != nil }

    fileprivate func pointer(_ reverse: Name) -> (name: Name, line: UInt32)? {
        nameOfReverse[reverse].map { ($0.name, $0.line) }
    }
}

/// Two tables are equal if their texts are.
extension HostsTable: Equatable {
    package static func == (left: HostsTable, right: HostsTable) -> Bool {
        left.path == right.path && left.digest == right.digest && left.count == right.count
    }
}

/// All hosts files of the machine. A name has the addresses of all of them; an address leads back to the name that the
/// first file has first.
package struct HostsFiles: Equatable, Sendable {
    private let tables: [HostsTable]

    package static let none = HostsFiles([])

    package init(_ tables: [HostsTable]) {
        self.tables = tables
    }

    /// Returns whether `answer` has data for the name under some type. Other sources' answers for the name are then
    /// obsolete.
    package func speaks(of name: Name) -> Bool { tables.contains { $0.speaks(of: name) } }

    /// Returns the files' answer and the line that has it. A name in a file has only the addresses of files: other
    /// types get NODATA, service bindings included, since they carry addresses too (RFC 9460 section 7.3). Nil for
    /// other names, and for types that a file cannot contain.
    func answer(_ question: Question) -> (answer: Answer, place: FilePlace)? {
        switch question.type {
        case .ptr: return pointer(question)
        case .a, .aaaa, .svcb, .https: break
        default: return nil
        }
        var addresses: [Address] = []
        var place: FilePlace?
        // A copy of a table would count its references.
        for index in tables.indices {
            guard let entries = tables[index].entriesOfName[question.name] else { continue }
            for entry in entries where !addresses.contains(entry.address) { addresses.append(entry.address) }
            guard place == nil, let first = entries.first else { continue }
            place = FilePlace(path: tables[index].path, line: Int(first.line))
        }
        return place.map { (.addresses(addresses, for: question, ttlSeconds: Bounds.hostsTTLSeconds), $0) }
    }

    private func pointer(_ question: Question) -> (answer: Answer, place: FilePlace)? {
        for table in tables {
            guard let (name, line) = table.pointer(question.name) else { continue }
            let answer = Answer(pointer: question.name, to: name, ttlSeconds: Bounds.hostsTTLSeconds)
            return (answer, FilePlace(path: table.path, line: Int(line)))
        }
        return nil
    }

    /// Returns whether a name in a local zone exists without data, because a file has names below it (RFC 8020).
    func isNonTerminal(_ name: Name) -> Bool { tables.contains { $0.isNonTerminal(name) } }
}

/// A line of a file.
package struct FilePlace: Equatable, Sendable {
    package let path: String
    package let line: Int
}

extension Set<Name> {
    mutating func insertAncestors(of name: Name, below zones: LocalZones) {
        guard let zone = zones.zone(of: name) else { return }
        var next = name.parent
        while let ancestor = next, ancestor.wire.count > zone.wire.count, insert(ancestor).inserted {
            next = ancestor.parent
        }
    }
}

extension Answer {
    /// Returns those of the addresses that the question is about; no data if there are none.
    static func addresses(_ addresses: [Address], for question: Question, ttlSeconds: UInt32) -> Answer {
        let asked = addresses.filter { $0.recordType == question.type }
        guard !asked.isEmpty else { return .nothing(.noData, inZone: question.name, ttlSeconds: ttlSeconds) }
        return Answer(
            records: asked.map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttlSeconds) })
    }

    convenience init(pointer owner: Name, to target: Name, ttlSeconds: UInt32) {
        self.init(records: [ResourceRecord(owner: owner, type: .ptr, ttlSeconds: ttlSeconds, data: target.wire)])
    }
}
