// Numbers of requests and upstreams.

import DNSWire

/// Identifies one request to one upstream. Never reused.
package struct FetchID: Hashable, Sendable {
    package let number: UInt64

    /// The number of the lookup that the request is for; `noLookup` for a background measurement.
    var lookup: Int { Int(number & 0xFFFF) }

    static let noLookup = 0xFFFF

    package func _rawHashValue(seed: Int) -> Int { QuickHash.value(of: number, seed: seed) }
}

extension FetchID {
    /// - Parameters:
    ///   - serial: counts the requests.
    ///   - lookup: the number of the lookup, at most `noLookup`.
    init(_ serial: UInt64, ofLookup lookup: Int) { self.init(number: serial << 16 | UInt64(lookup)) }
}

package struct ProviderID: Hashable, Sendable {
    package let number: Int

    package init(_ number: Int) {
        self.number = number
    }
}

/// Identifies a nameserver of the settings, or the nameservers of a link.
package struct NameserverID: Hashable, Sendable {
    package let number: Int

    package init(_ number: Int) {
        self.number = number
    }
}

/// Key of the tables that providers and nameservers share. Every upstream except the system resolver is ranked,
/// measured, paused and asked again by the same rules, so both kinds are in one ranking.
package enum RankedID: Hashable, Sendable {
    case provider(ProviderID)
    case nameserver(NameserverID)

    /// The provider's ID; nil for a nameserver.
    var provider: ProviderID? { if case .provider(let id) = self { id } else { nil } }
}
