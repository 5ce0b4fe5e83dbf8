// The address of this machine as a provider sees it.

package import DNSWire
package import Resolver

/// An address that a provider reported for this machine.
package struct ReportedExit {
    package let address: Address
    package let provider: ProviderID
    /// When the request was sent.
    package let askedAt: Instant
}
