// Why the system resolver's answer was given in the place of a provider's.

package import DNSWire

/// The last substitute for a provider's answer to a question.
package struct LastSubstitute: Equatable, Sendable {
    package let reason: SubstituteReason
    package let at: Instant
}

/// Reason why the system resolver's answer was given in the providers' place. The raw values appear in statistics.
package enum SubstituteReason: String, Sendable, CaseIterable {
    /// Every provider of the name is unreachable: no connection, no TLS handshake, or no reply to any question.
    case unreachable
    /// Every provider of the name fails for every name, and failed for this one.
    case failing
    /// Every answer of a provider was disproved by a TLS handshake or by a rule.
    case disproved
    /// An account sent an empty reply, which may mean that the name is not registered for it, and no other provider
    /// knows the name.
    case notServed = "not-served"
    /// A provider's budget or quota is used up, and its `when-used-up` names the system resolver.
    case usedUp = "used-up"
    /// The settings allow the system resolver after any failure (`stands-in = "any-failure"`,
    /// `order = "system-first"`).
    case setting

    var extendedError: ExtendedError {
        switch self {
        case .unreachable: .substitute(because: "providers unreachable")
        case .failing: .substitute(because: "providers fail for every name")
        case .disproved: .substitute(because: "providers' answers disproved")
        case .notServed: .substitute(because: "the name may not be registered for the account")
        case .usedUp: .substitute(because: "budget or quota used up")
        case .setting: .substitute(because: "providers failed")
        }
    }
}
