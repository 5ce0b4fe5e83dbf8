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
    /// An account that is closed gets the status for every name: so many domains in a row are no coincidence.
    private static let domainsOfAccount = 3

    mutating func answered(now: Instant) {
        answeredAt = now
        domains = []
    }

    /// Adds a name that got the status.
    ///
    /// - Returns: whether it concerns the name.
    mutating func forbids(_ domain: Name, now: Instant) -> Bool {
        guard let answeredAt, now - answeredAt < ForbiddenNames.recently else { return false }
        if domains.count < ForbiddenNames.domainsOfAccount { domains.insert(domain) }
        return domains.count < ForbiddenNames.domainsOfAccount
    }
}
