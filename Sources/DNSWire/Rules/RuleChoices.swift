// Settings of rules, of all names and of providers that are one of several words.

/// Setting `stands-in`: when the system resolver answers for a name that the providers resolve.
package enum StandInPolicy: String, Sendable, CaseIterable {
    /// The system resolver stands in if no provider could be reached.
    case unreachable
    /// The system resolver stands in if no provider had an answer, whatever the providers replied.
    case anyFailure = "any-failure"
    case never
}

/// Setting `order`: which upstreams are asked first for names that may go to providers.
package enum UpstreamOrder: String, Sendable, CaseIterable {
    case providersFirst = "providers-first"
    /// The system resolver's answer is given at once, and a certificate judges it.
    case systemFirst = "system-first"
}

/// Setting `compare`: the names that the system resolver is asked as well, to find those of the network alone.
package enum NameComparison: String, Sendable, CaseIterable {
    case never
    /// Names that the providers deny and clients keep asking for.
    case denied
    /// Names that clients keep asking for.
    case all
}

/// Setting `family`: the address family that clients get.
package enum FamilyPolicy: String, Sendable, CaseIterable {
    /// Both families, as without a rule.
    case both
    case ipv4
    case ipv6
    /// Clients get the other family only without a usable address of this one.
    case preferIPv4 = "prefer-ipv4"
    case preferIPv6 = "prefer-ipv6"
}

/// Setting `blocked-answer`: what clients get for a name that a provider blocks.
package enum BlockedAnswer: String, Sendable, CaseIterable {
    /// NXDOMAIN.
    case noSuchName = "nxdomain"
    /// NOERROR.
    case noData = "nodata"
    /// The unspecified address of the family in the question, and no data for other types.
    case unspecified = "0.0.0.0"
}

/// Setting `when-used-up` of a provider: what a question does when the provider's budget or quota is used up.
package enum WhenUsedUp: String, Sendable, CaseIterable {
    /// The question waits for its turn.
    case wait
    /// Another provider is asked. Without one, the question waits for its turn or gets an expired answer.
    case next
    /// The system resolver may answer.
    case system
}
