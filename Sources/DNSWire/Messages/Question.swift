// The key of lookups and cache entries. The class is always IN; the query parser rejects other classes.

package struct Question: Hashable, Sendable {
    package let name: Name
    package let type: RecordType
    /// The clients that the answer is for. As a part of the key, it keeps them apart in cache, lookups, demand and
    /// batches. The price is twelve bytes in each. The store has the answers for all clients only.
    package let clients: ClientGroup
    /// Answers with signatures, and those that upstreams did not validate, are kept apart from all others.
    package let dnssec: DNSSECBits

    package init(
        _ name: Name, _ type: RecordType, from clients: ClientGroup = .all, dnssec: DNSSECBits = []
    ) {
        self.name = name
        self.type = type
        self.clients = clients
        self.dnssec = dnssec
    }

    /// As in `Name`.
    package func _rawHashValue(seed: Int) -> Int {
        name._rawHashValue(
            seed: seed ^ (Int(dnssec.rawValue) << 16 | Int(type.rawValue))
                ^ Int(truncatingIfNeeded: clients.subnetCode ^ UInt64(clients.view) << 24))
    }

    /// Returns a question for another type of the same name, clients and bits.
    package func with(_ type: RecordType) -> Question { Question(name, type, from: clients, dnssec: dnssec) }

    /// Returns the question with these bits.
    package func with(_ dnssec: DNSSECBits) -> Question { Question(name, type, from: clients, dnssec: dnssec) }
}

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(typeText)" }

    /// Type and bits: "A", or "A+DO" for one with signatures.
    package var typeText: String { "\(type)\(dnssec)" }
}
