// The address of this machine as a provider sees it.

import DNSWire
import Resolver

/// An address that a provider reported for this machine.
struct ReportedExit {
    let address: Address
    let provider: ProviderID
    /// When the request was sent.
    let askedAt: Instant
}
