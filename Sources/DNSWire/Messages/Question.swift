// The key of lookups and cache entries. The class is always IN; the query parser rejects other classes.

package struct Question: Hashable, Sendable {
    package let name: Name
    package let type: RecordType
    /// The clients that the answer is for. As a part of the key, the group separates clients in cache, lookups, demand
    /// and batches. The price is twelve bytes in each entry. The store has the answers for all clients only.
    package let clients: ClientGroup
    /// The bits DO and CD. Answers with signatures, and answers that upstreams did not validate, are kept apart from
    /// all others.
    package let dnssec: DNSSECBits

    package init(
        _ name: Name, _ type: RecordType, from clients: ClientGroup = .all, dnssec: DNSSECBits = []
    ) {
        self.name = name
        self.type = type
        self.clients = clients
        self.dnssec = dnssec
    }

    /// Other modules would call the derived operator through its witness.
    package static func == (left: Question, right: Question) -> Bool {
        left.name == right.name && left.type == right.type && left.clients == right.clients
            && left.dnssec == right.dnssec
    }

    /// Returns the hash in a table, as `Name` does.
    package func _rawHashValue(seed: Int) -> Int {
        name._rawHashValue(
            seed: seed ^ (Int(dnssec.rawValue) << 16 | Int(type.rawValue))
                ^ Int(truncatingIfNeeded: clients.subnetCode ^ UInt64(clients.view) << 24))
    }

    /// Returns a question for another type of the same name, clients and bits.
    package func with(_ type: RecordType) -> Question { Question(name, type, from: clients, dnssec: dnssec) }

    /// Returns the question with these DNSSEC bits.
    package func with(_ dnssec: DNSSECBits) -> Question { Question(name, type, from: clients, dnssec: dnssec) }

    /// The question without DO and CD.
    package var withoutDNSSEC: Question { Question(name, type, from: clients) }
}

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(typeText)" }

    /// Type and bits as text: "A", or "A+DO" for a question with DO.
    package var typeText: String { "\(type)\(dnssec)" }
}
