// An order to all members to forget answers: a sealed element of a stream in Redis. It has a byte, 1 if the names below
// are meant, too; the record type; and the name.

package import Crypto
package import DNSWire

package struct FlushOrder: Equatable, Sendable {
    package let scope: QuestionScope

    /// For all types.
    private static let anyType: UInt16 = 255
    private static let place = "flushes"
    /// How far the element's number may be from the time of the order: calls are answered within seconds.
    private static let mostDelay: Duration = .seconds(10)

    package init(_ scope: QuestionScope) { self.scope = scope }

    package func bytes(at time: RedisTime, _ keys: FleetKeys) throws(CryptoError) -> [UInt8] {
        let type = scope.type?.rawValue ?? FlushOrder.anyType
        let plain = [scope.includesDescendants ? 1 : 0] + type.bigEndianBytes + scope.name.wire
        return try keys.seal(plain, .flush, place: FlushOrder.place, at: time)
    }

    /// Reads an element.
    ///
    /// - Parameter time: of the element.
    /// - Throws: `.outdated` if the order was given more than 10 s before or after: it is an old one that was put
    ///   again.
    package static func read(
        _ bytes: [UInt8], at time: RedisTime, _ keys: FleetKeys
    ) throws(Refusal) -> FlushOrder {
        let (plain, given) = try keys.open(bytes, .flush, place: place)
        guard plain.count > 3, let name = Name(wire: plain[3...]) else { throw .malformed }
        guard (-mostDelay...mostDelay).contains(time - given) else { throw .outdated }
        let type = UInt16(truncatingIfNeeded: plain[1..<3].bigEndianNumber)
        return FlushOrder(
            QuestionScope(
                name, includesDescendants: plain[0] == 1,
                type: type == anyType ? nil : RecordType(rawValue: type)))
    }
}
