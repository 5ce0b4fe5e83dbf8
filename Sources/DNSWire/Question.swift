// What a client asks and what a cache entry answers. The class is always IN: other classes end at the query parser.

package struct Question: Hashable, Sendable {
    package let name: Name
    package let type: RecordType

    package init(_ name: Name, _ type: RecordType) {
        self.name = name
        self.type = type
    }
}

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(type)" }
}
