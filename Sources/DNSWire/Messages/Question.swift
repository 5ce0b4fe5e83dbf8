// The key of lookups and cache entries. The class is always IN; the query parser rejects other classes.

package struct Question: Hashable, Sendable {
    package let name: Name
    package let type: RecordType
    /// The client subnet for the answer, if providers are told one. As a part of the key, it keeps clients apart in
    /// cache, lookups, demand and batches. The price is eight bytes in each. The store omits such answers.
    package let subnet: ClientSubnet

    package init(_ name: Name, _ type: RecordType, from subnet: ClientSubnet = .none) {
        self.name = name
        self.type = type
        self.subnet = subnet
    }

    /// As in `Name`.
    package func _rawHashValue(seed: Int) -> Int {
        name._rawHashValue(seed: seed ^ Int(type.rawValue) ^ Int(truncatingIfNeeded: subnet.code))
    }

    /// Returns a question for another type of the same name and client subnet.
    package func with(_ type: RecordType) -> Question { Question(name, type, from: subnet) }
}

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(type)" }
}
