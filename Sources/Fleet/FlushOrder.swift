// An order to all members to forget answers, as an element of a stream in Redis: version, ID of the key, a random
// number, whether the names below are meant, record type, length and bytes of the name, and a code over all of it. Only
// who has a key of the fleet can give one.

package import Crypto
package import DNSWire

package struct FlushOrder: Equatable, Sendable {
    package let scope: QuestionScope

    private static let version: UInt8 = 1
    private static let codeBytes = 16
    /// For all types.
    private static let anyType: UInt16 = 255

    package init(_ scope: QuestionScope) { self.scope = scope }

    /// - Parameter number: another one for each order, so that equal orders have different codes.
    package func bytes(_ keys: FleetKeys, number: UInt64) throws(CryptoError) -> [UInt8] {
        let key = keys.keys[0]
        let type = scope.type?.rawValue ?? FlushOrder.anyType
        let name = Array(scope.name.wire)
        let order =
            [FlushOrder.version] + key.id.bigEndianBytes + number.bigEndianBytes + [scope.includesDescendants ? 1 : 0]
            + type.bigEndianBytes + [UInt8(name.count)] + name
        return try order + FlushOrder.code(of: order, key)
    }

    /// Nil for bytes that no member made.
    package init?(_ bytes: [UInt8], _ keys: FleetKeys) {
        let order = Array(bytes.dropLast(FlushOrder.codeBytes))
        guard order.count > 17, order[0] == FlushOrder.version, order.count == 17 + Int(order[16]) else { return nil }
        let id = order[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let key = keys.keys.first(where: { $0.id == id }), let code = try? FlushOrder.code(of: order, key),
            code.isEqualInConstantTime(to: bytes.suffix(FlushOrder.codeBytes)), let name = Name(wire: order[17...])
        else { return nil }
        let type = UInt16(order[14]) << 8 | UInt16(order[15])
        scope = QuestionScope(
            name, includesDescendants: order[13] == 1,
            type: type == FlushOrder.anyType ? nil : RecordType(rawValue: type))
    }

    private static func code(of order: [UInt8], _ key: FleetKeys.Key) throws(CryptoError) -> [UInt8] {
        Array(try key.code("flush", [order]).prefix(codeBytes))
    }
}
