// An order to all members to forget answers: a sealed element of a stream in Redis. It has a byte, 1 if the order
// includes the names below; the record type; and the name.

package import Crypto
package import DNSWire

package struct FlushOrder: Equatable, Sendable {
    /// The caller's number of an order.
    package typealias ID = UInt64

    package let scope: QuestionScope

    /// The value for all types.
    private static let anyType: UInt16 = 255
    private static let place = "flushes"
    /// The largest difference between the time of the order and another time: calls are answered within seconds.
    private static let mostDelay: Duration = .seconds(10)

    package init(_ scope: QuestionScope) { self.scope = scope }

    package func bytes(at time: RedisTime, _ keys: FleetKeys) throws(CryptoError) -> [UInt8] {
        let type = scope.type?.rawValue ?? FlushOrder.anyType
        let plain = [scope.includesDescendants ? 1 : 0] + type.bigEndianBytes + scope.name.wire
        return try keys.seal(plain, .flush, place: FlushOrder.place, at: time)
    }

    /// Reads an element.
    ///
    /// - Parameters:
    ///   - time: the time of the element.
    ///   - now: when the element was read. After the clock of Redis was set back, Redis numbers elements by the former
    ///     time.
    /// - Returns: what is to be flushed, and when the order was given.
    /// - Throws: `.outdated` if the order was given more than 10 s before or after both times: it is an old order that
    ///   was put again.
    package static func read(
        _ bytes: [UInt8], at time: RedisTime, now: RedisTime, _ keys: FleetKeys
    ) throws(Refusal) -> (scope: QuestionScope, given: RedisTime) {
        let (plain, given) = try keys.open(bytes, .flush, place: place)
        guard plain.count > 3, let name = Name(wire: plain[3...]) else { throw .malformed }
        let isRecent = [time, now].contains { (-mostDelay...mostDelay).contains($0 - given) }
        guard isRecent else { throw .outdated }
        let type = UInt16(truncatingIfNeeded: plain[1..<3].bigEndianNumber)
        let scope = QuestionScope(
            name, includesDescendants: plain[0] == 1, type: type == anyType ? nil : RecordType(rawValue: type))
        return (scope, given)
    }
}
