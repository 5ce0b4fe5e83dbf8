// Decides whether a provider's HTTP 403 concerns one name or the account. For example, it concerns the name if the name
// was not added in the vendor's console (providers.md, correction C1).

import DNSWire
import Resolver

struct ForbiddenNames {
    static let status = 403

    /// When the provider last answered with another status.
    private var answeredAt: Instant?
    /// Registrable domains that got a 403 since then.
    private var domains: Set<Name> = []

    /// How long a successful answer proves that the account is in service.
    private static let recently: Duration = .seconds(3600)
    /// From this many domains in a row on, a 403 is no longer attributed to the name: a closed account gets it for
    /// every name. As this may be a coincidence, the reply counts as unusable, which moves the provider to the end of
    /// the order for seconds.
    private static let domainsOfAccount = 3

    mutating func answered(now: Instant) {
        answeredAt = now
        domains = []
    }

    /// True if the provider has recently served the account, so that a 403 does not concern the account.
    func isServed(now: Instant) -> Bool { answeredAt.map { now - $0 < ForbiddenNames.recently } ?? false }

    /// Adds a domain that got a 403.
    ///
    /// - Returns: true if the status concerns this name only.
    mutating func forbids(_ domain: Name) -> Bool {
        if domains.count < ForbiddenNames.domainsOfAccount { domains.insert(domain) }
        return domains.count < ForbiddenNames.domainsOfAccount
    }
}
