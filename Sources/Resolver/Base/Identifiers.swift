// Numbers of requests and providers.

import DNSWire

/// Identifies one request to one upstream. Never reused.
package struct FetchID: Hashable, Sendable {
    package let number: UInt64

    package func _rawHashValue(seed: Int) -> Int { QuickHash.value(of: number, seed: seed) }
}

package struct ProviderID: Hashable, Sendable {
    /// An ID that no provider has.
    package static let none = ProviderID(.min + 1)
    /// Stands for the providers of a client's view where the settings or the operator keep a name from them.
    package static let noneOfView = ProviderID(.min + 2)

    package let number: Int

    package init(_ number: Int) {
        self.number = number
    }
}
