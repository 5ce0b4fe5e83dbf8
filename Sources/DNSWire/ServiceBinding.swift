// The data of SVCB and HTTPS records (RFC 9460) as far as addresses stand in it: where the service is, which hints it
// gives, and the record with some of the hints taken out. Must never let a hint pass that it could not read.

extension ResourceRecord {
    /// TargetName, with `.` as it stands: it means the owner. Nil for other types, and where it cannot be read.
    package var bindingTarget: Name? { ServiceBinding(self)?.target }

    /// What ipv4hint and ipv6hint say, in their order. None for other types, in AliasMode (RFC 9460 section 2.4.2: its
    /// parameters are ignored) and for malformed parameters, which nobody may use (section 2.2).
    package var addressHints: [Address] {
        guard let binding = ServiceBinding(self), !binding.isAlias else { return [] }
        return binding.parameters?.flatMap(\.hints) ?? []
    }

    /// A copy that hints at allowed addresses only. A hint without addresses goes, and is mandatory no more; everything
    /// else stays byte for byte.
    ///
    /// Hints that cannot be read cannot be judged: malformed parameters are cut off, all of them, and with a malformed
    /// TargetName so is what comes from there. Clients have to fall back for such a record anyway. In AliasMode and for
    /// other types the record stays as it is.
    package func withAddressHints(_ isAllowed: (Address) -> Bool) -> ResourceRecord {
        guard type.isServiceBinding, data.count >= ServiceBinding.priorityBytes else { return self }
        guard let binding = ServiceBinding(self) else {
            return with(Array(data.prefix(ServiceBinding.priorityBytes)))
        }
        guard !binding.isAlias else { return self }
        return with(binding.withHints(isAllowed).data)
    }

    private func with(_ data: [UInt8]) -> ResourceRecord {
        ResourceRecord(owner: owner, type: type, ttlSeconds: ttlSeconds, data: data)
    }
}

extension RecordType {
    /// SVCB, and HTTPS, which has its form (RFC 9460 section 9).
    package var isServiceBinding: Bool { self == .svcb || self == .https }
}

/// RFC 9460 section 2.2.
private struct ServiceBinding {
    let priority: UInt16
    let target: Name
    /// In ascending order of their keys; nil when malformed.
    let parameters: [Parameter]?

    static let priorityBytes = 2

    init(priority: UInt16, target: Name, parameters: [Parameter]?) {
        self.priority = priority
        self.target = target
        self.parameters = parameters
    }

    /// Nil for other types, and where priority or target cannot be read. A target is never compressed: a pointer would
    /// have to lead into the header.
    init?(_ record: ResourceRecord) {
        guard record.type.isServiceBinding else { return nil }
        let data = record.data
        var cursor = ByteCursor(data.span, from: 0)
        guard let priority = try? cursor.readBigEndian16(), let target = try? cursor.readName() else { return nil }
        self.init(priority: priority, target: target, parameters: try? Parameter.readAll(&cursor))
    }

    /// RFC 9460 section 2.4.1.
    var isAlias: Bool { priority == 0 }

    var data: [UInt8] {
        var data: [UInt8] = []
        data.appendBigEndian(priority)
        data += target.wire
        for parameter in parameters ?? [] {
            data.appendBigEndian(parameter.key)
            data.appendBigEndian(UInt16(parameter.value.count))
            data += parameter.value
        }
        return data
    }

    func withHints(_ isAllowed: (Address) -> Bool) -> ServiceBinding {
        var kept: [Parameter] = []
        var emptied: Set<UInt16> = []
        for parameter in parameters ?? [] {
            guard let rest = parameter.withHints(isAllowed) else {
                emptied.insert(parameter.key)
                continue
            }
            kept.append(rest)
        }
        return ServiceBinding(
            priority: priority, target: target, parameters: kept.compactMap { $0.withoutMandatory(emptied) })
    }
}

/// A key and its value. Invariant: lists of keys and of addresses are whole, and not empty.
private struct Parameter {
    let key: UInt16
    let value: [UInt8]

    /// RFC 9460 section 14.3.2.
    private static let mandatory: UInt16 = 0
    private static let ipv4Hint: UInt16 = 4
    private static let ipv6Hint: UInt16 = 6

    /// RFC 9460 section 2.2: up to the end of the data, in strictly ascending order.
    static func readAll(_ cursor: inout ByteCursor) throws(MalformedMessage) -> [Parameter] {
        var all: [Parameter] = []
        while !cursor.isAtEnd {
            let key = try cursor.readBigEndian16()
            let count = Int(try cursor.readBigEndian16())
            var value: [UInt8] = []
            try cursor.append(count, to: &value)
            let parameter = Parameter(key: key, value: value)
            guard all.last.map({ $0.key < key }) ?? true, parameter.isWhole else {
                throw cursor.malformed(.dataLength)
            }
            all.append(parameter)
        }
        return all
    }

    /// RFC 9460 section 7.3; none for other keys.
    var hints: [Address] { addressBytes == nil ? [] : elements.compactMap { Address(bytes: $0) } }

    /// Itself where all hints are allowed or where it is none; nil where none is.
    func withHints(_ isAllowed: (Address) -> Bool) -> Parameter? {
        guard addressBytes != nil else { return self }
        let left = hints.filter(isAllowed)
        return left.isEmpty ? nil : Parameter(key: key, value: left.flatMap(\.bytes))
    }

    /// For `mandatory` the list without these keys, nil where none is left; others as they are.
    func withoutMandatory(_ keys: Set<UInt16>) -> Parameter? {
        guard key == Parameter.mandatory else { return self }
        let left = elements.filter { !keys.contains($0.bigEndian16) }
        return left.isEmpty ? nil : Parameter(key: key, value: left.flatMap { $0 })
    }

    /// Of each address in the value; nil when it is no list of addresses.
    private var addressBytes: Int? {
        switch key {
        case Parameter.ipv4Hint: 4
        case Parameter.ipv6Hint: 16
        default: nil
        }
    }

    /// Of a list of addresses or of keys, the value cut into those; nil for other values.
    private var elementBytes: Int? { key == Parameter.mandatory ? 2 : addressBytes }

    private var elements: [ArraySlice<UInt8>] {
        guard let width = elementBytes else { return [] }
        return stride(from: 0, to: value.count, by: width).map { value[$0..<($0 + width)] }
    }

    /// RFC 9460 sections 7.3 and 8: lists are not empty, and mandatory keys ascend.
    private var isWhole: Bool {
        guard let width = elementBytes else { return true }
        guard !value.isEmpty, value.count.isMultiple(of: width) else { return false }
        guard key == Parameter.mandatory else { return true }
        let keys = elements.map(\.bigEndian16)
        return zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
    }
}

extension ArraySlice<UInt8> {
    fileprivate var bigEndian16: UInt16 { reduce(0) { $0 << 8 | UInt16($1) } }
}
