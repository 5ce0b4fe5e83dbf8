// The properties of genuine answers for the names of a rule (setting `expect`).

/// Only A and AAAA answers with addresses are judged. An empty answer contradicts nothing.
package struct RuleExpectation: Hashable, Sendable {
    /// True: a genuine answer has a CNAME record. False: it has none.
    package var hasAlias: Bool?
    /// Upper bound of the addresses' TTLs in the upstream's reply, 1 s to 7 days, in whole seconds.
    package var maxTTL: Duration?
    /// All addresses are in these networks, up to 64. A family without a network here is not judged.
    package var networks: [Prefix] = []
    /// The name of the rule, once it applies to one.
    package var rule = Name.root

    package init() {}
}

extension RuleExpectation: CustomStringConvertible {
    /// The expectation as in the settings, without quotes.
    package var description: String {
        let parts = [
            hasAlias.map { "cname = \($0)" }, maxTTL.map { "max-ttl = \($0.wholeSeconds)s" },
            networks.isEmpty ? nil : "within = [\(networks.map(\.description).joined(separator: ", "))]",
        ]
        return "{\(parts.compactMap(\.self).joined(separator: ", "))}"
    }
}
