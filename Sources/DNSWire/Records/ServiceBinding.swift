// Parses SVCB and HTTPS records (RFC 9460): the target, the address hints, and removal of hints. Must never pass a
// hint that it could not parse.

extension ResourceRecord {
    /// The TargetName; `.` means the owner. Nil for other types and unreadable data.
    package var bindingTarget: Name? { ServiceBinding(self)?.target }

    /// The addresses of ipv4hint and ipv6hint, in order. Empty for other types and in AliasMode, which ignores
    /// parameters (RFC 9460 section 2.4.2). Also empty for malformed parameters, which clients must not use (section
    /// 2.2).
    package var addressHints: [Address] {
        guard let binding = ServiceBinding(self), !binding.isAlias else { return [] }
        return binding.parameters?.flatMap(\.hints) ?? []
    }

    /// Returns a copy with only the allowed address hints. A hint without addresses is removed, also from the
    /// mandatory list. All other bytes stay.
    ///
    /// Unreadable hints cannot be checked, so all parameters are removed if they are malformed, and in AliasMode, which
    /// has none (RFC 9460 section 2.4.2). After a malformed TargetName, all following data is removed. Clients must
    /// fall back for such a record anyway. Other types stay unchanged.
    package func withAddressHints(_ isAllowed: (Address) -> Bool) -> ResourceRecord {
        guard type.isServiceBinding, data.count >= ServiceBinding.priorityBytes else { return self }
        guard let binding = ServiceBinding(self) else {
            return with(Array(data.prefix(ServiceBinding.priorityBytes)))
        }
        return with(binding.withHints(isAllowed).data)
    }

    private func with(_ data: [UInt8]) -> ResourceRecord {
        ResourceRecord(owner: owner, type: type, ttlSeconds: ttlSeconds, data: data)
    }
}

extension RecordType {
    /// SVCB, or HTTPS, which has the same form (RFC 9460 section 9).
    package var isServiceBinding: Bool { self == .svcb || self == .https }
}

/// The data of a SVCB or HTTPS record (RFC 9460 section 2.2).
private struct ServiceBinding {
    let priority: UInt16
    let target: Name
    /// The parameters in ascending key order; nil if malformed.
    let parameters: [Parameter]?

    static let priorityBytes = 2

    init(priority: UInt16, target: Name, parameters: [Parameter]?) {
        self.priority = priority
        self.target = target
        self.parameters = parameters
    }

    /// Returns nil for other types, and if priority or target is unreadable. Targets are never compressed: a pointer
    /// would have to refer to the header.
    init?(_ record: ResourceRecord) {
        guard record.type.isServiceBinding else { return nil }
        let data = record.data
        var cursor = ByteCursor(data.span, from: 0)
        guard let priority = try? cursor.readBigEndian16(), let target = try? cursor.readName() else { return nil }
        self.init(priority: priority, target: target, parameters: try? Parameter.readAll(&cursor))
    }

    /// Whether the record is in AliasMode (RFC 9460 section 2.4.1).
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
        guard !isAlias else { return ServiceBinding(priority: priority, target: target, parameters: []) }
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

/// A key and its value. Invariant: lists of keys and of addresses are complete and not empty.
private struct Parameter {
    let key: UInt16
    let value: [UInt8]

    /// The key `mandatory` (RFC 9460 section 14.3.2).
    private static let mandatory: UInt16 = 0
    private static let ipv4Hint: UInt16 = 4
    private static let ipv6Hint: UInt16 = 6

    /// Reads parameters to the end of the data, in strictly ascending key order (RFC 9460 section 2.2).
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

    /// The addresses of a hint (RFC 9460 section 7.3); empty for other keys.
    var hints: [Address] { addressBytes == nil ? [] : elements.compactMap { Address(bytes: $0) } }

    /// Returns the parameter with the allowed hints only; nil if none is left. Other keys stay unchanged.
    func withHints(_ isAllowed: (Address) -> Bool) -> Parameter? {
        guard addressBytes != nil else { return self }
        let left = hints.filter(isAllowed)
        return left.isEmpty ? nil : Parameter(key: key, value: left.flatMap(\.bytes))
    }

    /// For `mandatory`, returns the list without these keys; nil if none is left. Other keys stay unchanged.
    func withoutMandatory(_ keys: Set<UInt16>) -> Parameter? {
        guard key == Parameter.mandatory else { return self }
        let left = elements.filter { !keys.contains($0.bigEndian16) }
        return left.isEmpty ? nil : Parameter(key: key, value: left.flatMap { $0 })
    }

    /// Bytes per address in the value; nil if the value is not an address list.
    private var addressBytes: Int? {
        switch key {
        case Parameter.ipv4Hint: 4
        case Parameter.ipv6Hint: 16
        default: nil
        }
    }

    /// Bytes per element of an address or key list; nil for other values.
    private var elementBytes: Int? { key == Parameter.mandatory ? 2 : addressBytes }

    private var elements: [ArraySlice<UInt8>] {
        guard let width = elementBytes else { return [] }
        return stride(from: 0, to: value.count, by: width).map { value[$0..<($0 + width)] }
    }

    /// Whether the value is well-formed (RFC 9460 sections 7.3 and 8): lists are not empty, and mandatory keys ascend.
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
