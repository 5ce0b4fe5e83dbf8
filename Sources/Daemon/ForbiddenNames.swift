// Whether a provider's HTTP 403 concerns one name, such as one that was not added in the vendor's console
// (providers.md, correction C1), or the account.

import DNSWire
import Resolver

struct ForbiddenNames {
    static let status = 403

    /// When the provider last replied about a name in another way.
    private var answeredAt: Instant?
    /// Registrable domains with this status since then.
    private var domains: Set<Name> = []

    /// A provider that served the account so lately still serves it.
    private static let recently: Duration = .seconds(3600)
    /// An account that was closed since gets the status for every name. So many domains in a row may be a coincidence,
    /// so that they count as unusable replies: the provider goes to the end of the order for seconds.
    private static let domainsOfAccount = 3

    mutating func answered(now: Instant) {
        answeredAt = now
        domains = []
    }

    /// Whether the provider has served the account lately, so that the status does not concern the account.
    func isServed(now: Instant) -> Bool { answeredAt.map { now - $0 < ForbiddenNames.recently } ?? false }

    /// Adds a name that got the status.
    ///
    /// - Returns: whether it concerns the name alone.
    mutating func forbids(_ domain: Name) -> Bool {
        if domains.count < ForbiddenNames.domainsOfAccount { domains.insert(domain) }
        return domains.count < ForbiddenNames.domainsOfAccount
    }
}
