// Which providers are filters, and which answers are a filter's.

import DNSWire

/// The providers whose answers no other source may overrule.
struct Filters {
    /// Providers that the operator chose as filters.
    private let chosen: Set<Source>
    /// Providers whose extended errors cannot be forged on the path.
    private let authenticated: Set<Source>

    init(_ providers: [ProviderTraits]) {
        let sources = { (isMeant: (ProviderTraits) -> Bool) in
            Set(providers.filter(isMeant).compactMap(\.id.provider).map { Source.provider($0) })
        }
        (chosen, authenticated) = (sources(\.filters), sources(\.verifies))
    }

    /// Whether the answer is a filter's, whatever its addresses show: a block page has a certificate of its own. An
    /// extended error that says so counts only over TLS, since else the path could keep its forged address from being
    /// judged.
    func makeFinal(_ answer: Answer, from source: Source) -> Bool {
        if !chosen.isEmpty, chosen.contains(source) { return true }
        guard let remark = answer.remark else { return false }
        return remark.tellsBlock && authenticated.contains(source)
    }
}
