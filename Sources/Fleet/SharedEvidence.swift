// A member's evidence that an address does not belong to its name (the certificate is another name's), as a sealed
// message. Other members probe the address themselves.

package import Crypto
package import DNSWire

package struct SharedEvidence: Hashable, Sendable {
    package let name: Name
    package let address: Address

    private static let place = "evidence"
    /// The largest difference between a message's time and now: a message arrives within milliseconds.
    private static let mostDelay: Duration = .seconds(10)

    package init(_ name: Name, _ address: Address) { (self.name, self.address) = (name, address) }

    /// - Parameter member: the token of the member that sends it.
    package func bytes(by member: [UInt8], at time: RedisTime, _ keys: FleetKeys) throws(CryptoError) -> [UInt8] {
        let address = address.bytes
        let plain = [UInt8(member.count)] + member + [UInt8(address.count)] + address + name.wire
        return try keys.seal(plain, .evidence, place: SharedEvidence.place, at: time)
    }

    /// Reads a message. Throws `.outdated` if its time is more than 10 s from now.
    package static func read(
        _ bytes: [UInt8], now: RedisTime, _ keys: FleetKeys
    ) throws(Refusal) -> (evidence: SharedEvidence, member: [UInt8]) {
        let (plain, time) = try keys.open(bytes, .evidence, place: place)
        var rest = plain[...]
        guard let member = field(&rest), let address = field(&rest).flatMap({ Address(bytes: $0) }),
            let name = Name(wire: rest)
        else { throw .malformed }
        guard (-mostDelay...mostDelay).contains(now - time) else { throw .outdated }
        return (SharedEvidence(name, address), Array(member))
    }

    private static func field(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let count = rest.popFirst(), rest.count >= Int(count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }
}

/// Limits evidence, sent and received together: the same evidence once in ten minutes, and ten messages per second. A
/// resolver that lies gives thousands of wrong addresses.
struct EvidenceLimit: Sendable {
    private static let perSecond = 10
    private static let memory: Duration = .seconds(600)
    /// The maximum number of entries. When it is reached, all are forgotten.
    private static let maxCount = 1000

    private var began: Instant?
    private var count = 0
    private var known: [SharedEvidence: Instant] = [:]

    /// Records the evidence.
    ///
    /// - Returns: whether to send it, or to act on it.
    mutating func admit(_ evidence: SharedEvidence, now: Instant) -> Bool {
        if let at = known[evidence], at.duration(to: now) < EvidenceLimit.memory { return false }
        if began.map({ $0.duration(to: now) >= .seconds(1) }) ?? true { (began, count) = (now, 0) }
        count += 1
        guard count <= EvidenceLimit.perSecond else { return false }
        if known.count >= EvidenceLimit.maxCount { known = [:] }
        known[evidence] = now
        return true
    }
}
