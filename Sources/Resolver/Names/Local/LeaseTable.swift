// Names of DHCP leases, by label and by address. Answers end with their lease.

package import DNSWire

package struct LeaseTable: Sendable {
    fileprivate struct Entry {
        let address: Address
        let end: Int64?
        let line: UInt32
    }

    fileprivate struct Pointer {
        let label: Name
        let end: Int64?
        let line: UInt32
    }

    /// The maximum number of addresses of a name: more than a client tries.
    private static let maxAddresses = 16

    /// The path of the file, for `explain`.
    package let path: String
    private let file: LeaseFile
    private var entriesOfLabel: [Name: [Entry]] = [:]
    /// The pointers by the name of the PTR question.
    private var pointerOfReverse: [Name: Pointer] = [:]
    /// Names without data, as in a hosts file, but only of reverse names.
    private var nonTerminals: Set<Name> = []

    /// Creates the table. An address has the name of its last lease in the file. Clients with one name share it.
    package init(_ file: LeaseFile, path: String, zones: LocalZones = .none) {
        (self.file, self.path) = (file, path)
        for lease in file.leases {
            let (end, line) = (lease.endsAtSecondsSince1970, UInt32(clamping: lease.line))
            let pointer = Pointer(label: lease.label, end: end, line: line)
            let former = pointerOfReverse.updateValue(pointer, forKey: lease.address.reverseName)
            if let former { entriesOfLabel[former.label]?.removeAll { $0.address == lease.address } }
            entriesOfLabel[lease.label, default: []].append(Entry(address: lease.address, end: end, line: line))
            // The servers append new leases.
            if entriesOfLabel[lease.label, default: []].count > LeaseTable.maxAddresses {
                entriesOfLabel[lease.label]?.removeFirst()
            }
        }
        entriesOfLabel = entriesOfLabel.filter { !$0.value.isEmpty }
        guard !zones.isEmpty else { return }
        for reverse in pointerOfReverse.keys { nonTerminals.insertAncestors(of: reverse, below: zones) }
    }

    /// The number of names.
    package var count: Int { entriesOfLabel.count }
    package var refusedNames: Int { file.refusedNames }
    package var ignored: IgnoredLines { file.ignored }

    /// Returns the labels and reverse names for which the other table has no lease in force.
    ///
    /// - Parameter secondsSince1970: the time at which a lease has to be in force. Cached answers from a time without a
    ///   lease would hide a new one.
    package func names(missingIn other: LeaseTable?, at secondsSince1970: Int64) -> Set<Name> {
        guard let other else { return Set(entriesOfLabel.keys).union(pointerOfReverse.keys) }
        let isOver = { (end: Int64?) in end.map { $0 <= secondsSince1970 } ?? false }
        let labels = entriesOfLabel.keys.filter { other.entries(of: $0).allSatisfy { isOver($0.end) } }
        let reverse = pointerOfReverse.keys.filter { other.pointer($0).map { isOver($0.end) } ?? true }
        return Set(labels).union(reverse)
    }

    fileprivate func entries(of label: Name) -> [Entry] { entriesOfLabel[label] ?? [] }
    fileprivate func pointer(_ reverse: Name) -> Pointer? { pointerOfReverse[reverse] }
    fileprivate func isNonTerminal(_ name: Name) -> Bool { nonTerminals.contains(name) }
}

extension LeaseTable: Equatable {
    package static func == (left: LeaseTable, right: LeaseTable) -> Bool {
        left.path == right.path && left.file == right.file
    }
}

/// All lease files of the machine, and the time that they count from.
package struct Leases: Sendable {
    /// A lease that answers a question.
    struct Found {
        let answer: Answer
        let place: FilePlace
        /// When the lease ends; nil: never.
        let endsAt: Instant?
    }

    package let tables: [LeaseTable]
    /// 1970-01-01 by the wall clock, which may be set at any time.
    package let epoch: Instant

    package static let none = Leases([], epoch: Instant(nanoseconds: 0))

    package init(_ tables: [LeaseTable], epoch: Instant) {
        self.tables = tables.filter { $0.count > 0 }
        self.epoch = epoch
    }

    package var isEmpty: Bool { tables.isEmpty }

    /// Returns whether a lease, in force or not, has the name: a single label, or a reverse name.
    package func has(_ name: Name) -> Bool {
        tables.contains { !$0.entries(of: name).isEmpty || $0.pointer(name) != nil }
    }

    /// Returns the labels and reverse names whose leases have ended by the time of these leases.
    package func namesWithoutLease(now: Instant) -> Set<Name> {
        let seconds = epoch.duration(to: now).wholeSeconds
        return tables.reduce(into: []) { $0.formUnion($1.names(missingIn: $1, at: seconds)) }
    }

    /// Returns the addresses of a client's name. As in a hosts file, a name with addresses has no service bindings. Nil
    /// if no lease in force has the name, and for other types.
    ///
    /// - Parameter label: the client's name, for the name in the question.
    func addresses(of label: Name, for question: Question, now: Instant) -> Found? {
        guard [.a, .aaaa, .svcb, .https].contains(question.type) else { return nil }
        var (addresses, place, earliest): ([Address], FilePlace?, Instant?) = ([], nil, nil)
        for table in tables {
            for entry in table.entries(of: label) where isInForce(entry.end, now) && !addresses.contains(entry.address)
            {
                addresses.append(entry.address)
                place = place ?? FilePlace(path: table.path, line: Int(entry.line))
                if let end = instant(entry.end) { earliest = min(end, earliest ?? end) }
            }
        }
        guard let place else { return nil }
        let answer = Answer.addresses(addresses, for: question, ttlSeconds: ttlSeconds(until: earliest, now))
        return Found(answer: answer, place: place, endsAt: earliest)
    }

    /// Returns the client's name for a reverse name; nil if no lease in force has the address.
    ///
    /// - Parameter name: makes the client's whole name from its label; nil: the client has none.
    func pointer(_ question: Question, now: Instant, name: (Name) -> Name?) -> Found? {
        for table in tables {
            guard let pointer = table.pointer(question.name), isInForce(pointer.end, now),
                let target = name(pointer.label)
            else { continue }
            let end = instant(pointer.end)
            let answer = Answer(pointer: question.name, to: target, ttlSeconds: ttlSeconds(until: end, now))
            return Found(
                answer: answer, place: FilePlace(path: table.path, line: Int(pointer.line)), endsAt: end)
        }
        return nil
    }

    func isNonTerminal(_ name: Name) -> Bool { tables.contains { $0.isNonTerminal(name) } }

    private func instant(_ end: Int64?) -> Instant? { end.map { epoch + .seconds(Int($0)) } }

    /// Whether the lease is in force. A lease of less than a second is over: its answer would have the TTL 0.
    private func isInForce(_ end: Int64?, _ now: Instant) -> Bool {
        instant(end).map { now.duration(to: $0) >= .seconds(1) } ?? true
    }

    private func ttlSeconds(until end: Instant?, _ now: Instant) -> UInt32 {
        guard let end else { return Bounds.hostsTTLSeconds }
        return UInt32(clamping: min(Int64(Bounds.hostsTTLSeconds), now.duration(to: end).wholeSeconds))
    }
}
