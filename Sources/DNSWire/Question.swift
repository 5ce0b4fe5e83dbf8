// What a client asks and what a cache entry answers. The class is always IN: other classes end at the query parser.

package struct Question: Hashable, Sendable {
    package let name: Name
    package let type: RecordType
    /// Where the answer is for, when providers are told.
    package let subnet: ClientSubnet

    package init(_ name: Name, _ type: RecordType, from subnet: ClientSubnet = .none) {
        self.name = name
        self.type = type
        self.subnet = subnet
    }

    /// The same name's, for the same client.
    package func with(_ type: RecordType) -> Question { Question(name, type, from: subnet) }
}

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(type)" }
}
