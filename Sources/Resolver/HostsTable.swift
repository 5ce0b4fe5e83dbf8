// Parsed /etc/hosts, by name and by address. Unusable lines are skipped, as by other resolvers on the machine.

package import DNSWire

package struct HostsTable: Sendable {
    private var addressesOfName: [Name: [Address]] = [:]
    /// Names by the name of their PTR question.
    private var nameOfReverse: [Name: Name] = [:]

    package static let empty = HostsTable()

    private init() {}

    /// - Parameter text: lines of "ADDRESS NAME [NAME ...]", "#" begins a comment (hosts(5)).
    package init(parsing text: [UInt8]) {
        var entries = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard let first = words.first, let address = Address(String(decoding: first, as: UTF8.self)) else {
                continue
            }
            for word in words.dropFirst() {
                guard let name = Name(String(decoding: word, as: UTF8.self)), entries < Bounds.maxHostsEntries else {
                    continue
                }
                entries += 1
                add(name, address)
            }
        }
    }

    private mutating func add(_ name: Name, _ address: Address) {
        if addressesOfName[name]?.contains(address) != true { addressesOfName[name, default: []].append(address) }
        let reverse = address.reverseName
        if nameOfReverse[reverse] == nil { nameOfReverse[reverse] = name }
    }

    /// Returns whether `answer` has data for the name under some type. Other answers for the name are then obsolete.
    package func speaks(of name: Name) -> Bool { addressesOfName[name] != nil || nameOfReverse[name] != nil }

    /// Returns the file's answer. A name in the file has only the file's addresses: other types get NODATA, service
    /// bindings included, since they carry addresses too (RFC 9460 section 7.3). Nil for other names, and for types
    /// that the file cannot contain.
    func answer(_ question: Question) -> Answer? {
        let ttl = Bounds.hostsTTLSeconds
        if question.type == .ptr, let name = nameOfReverse[question.name] {
            return Answer(records: [ResourceRecord(owner: question.name, type: .ptr, ttlSeconds: ttl, data: name.wire)])
        }
        guard [.a, .aaaa, .svcb, .https].contains(question.type), let addresses = addressesOfName[question.name] else {
            return nil
        }
        let asked = addresses.filter { $0.recordType == question.type }
        guard !asked.isEmpty else { return Answer(negative: .noData, ttlSeconds: ttl) }
        return Answer(records: asked.map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttl) })
    }
}
