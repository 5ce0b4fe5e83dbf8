// A member's news that an address of a name has failed its probe there, as a sealed message. Others probe it
// themselves.

package import Crypto
package import DNSWire

package struct Suspicion: Hashable, Sendable {
    package let name: Name
    package let address: Address

    private static let place = "suspicions"
    /// A message takes milliseconds.
    private static let mostDelay: Duration = .seconds(10)

    package init(_ name: Name, _ address: Address) { (self.name, self.address) = (name, address) }

    /// - Parameter member: the token of the member that tells it.
    package func bytes(by member: [UInt8], at time: RedisTime, _ keys: FleetKeys) throws(CryptoError) -> [UInt8] {
        let address = address.bytes
        let plain = [UInt8(member.count)] + member + [UInt8(address.count)] + address + name.wire
        return try keys.seal(plain, .suspicion, place: Suspicion.place, at: time)
    }

    package static func read(
        _ bytes: [UInt8], now: RedisTime, _ keys: FleetKeys
    ) throws(Refusal) -> (suspicion: Suspicion, member: [UInt8]) {
        let (plain, time) = try keys.open(bytes, .suspicion, place: place)
        var rest = plain[...]
        guard let member = field(&rest), let address = field(&rest).flatMap({ Address(bytes: $0) }),
            let name = Name(wire: rest)
        else { throw .malformed }
        guard (-mostDelay...mostDelay).contains(now - time) else { throw .outdated }
        return (Suspicion(name, address), Array(member))
    }

    private static func field(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let count = rest.popFirst(), rest.count >= Int(count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }
}

/// The suspicions that were told or heard lately. Each is told once, although all members find it. A resolver that lies
/// gives thousands of wrong addresses; a few per second are told.
struct SuspicionMemory: Sendable {
    private static let perSecond = 10
    private static let memory: Duration = .seconds(600)
    /// Then all are forgotten.
    private static let maxCount = 1000

    private var began: Instant?
    private var count = 0
    private var known: [Suspicion: Instant] = [:]

    /// Whether other members are to be told, or this one is to be.
    mutating func takesUp(_ suspicion: Suspicion, now: Instant) -> Bool {
        if let at = known[suspicion], at.duration(to: now) < SuspicionMemory.memory { return false }
        if began.map({ $0.duration(to: now) >= .seconds(1) }) ?? true { (began, count) = (now, 0) }
        count += 1
        guard count <= SuspicionMemory.perSecond else { return false }
        if known.count >= SuspicionMemory.maxCount { known = [:] }
        known[suspicion] = now
        return true
    }
}
