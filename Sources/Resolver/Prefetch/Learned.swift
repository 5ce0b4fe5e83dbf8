// The result of a lookup, for the refresh plan.

import DNSWire
import PublicSuffix

/// The result of a lookup, for the refresh plan.
struct Learned {
    /// TTL in the cache; 0 if not cached.
    let ttlSeconds: UInt32
    let isNegative: Bool
    /// The system resolver's answer, given in place of a provider's.
    let isSubstitute: Bool
    let isProviders: Bool
    /// A provider gave records, no block: the name is no name of this network alone.
    let isPublic: Bool
    /// The TTL may be the remaining part of the provider's.
    let mayHaveAged: Bool
}
