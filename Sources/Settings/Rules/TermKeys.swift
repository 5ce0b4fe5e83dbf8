// The formats of rule terms in the settings file, by their syntax.

import DNSWire

extension Key<Settings.Rule> {
    init(_ term: RuleTerm) {
        switch term.syntax {
        case .truth(let value): self.init(term, value, .truth)
        case .word(let value, let words): self.init(term, value, .word(of: words))
        case .integer(let value, let range, let meaning): self.init(term, value, .plainInteger(range, meaning: meaning))
        case .ttl(let value): self.init(term, value, .duration(Settings.Cache.ttls))
        case .ports(let value): self.init(term, value, Format.port.list(of: "ports", Settings.Probe.portCounts))
        case .addresses(let value):
            self.init(term, value, Format.address.list(of: "IP addresses", 0...Settings.Rule.maxFallbackAddresses))
        case .expectation(let value): self.init(term, value, .expectation)
        case .prefixes(let value):
            self.init(term, value, Format.prefix.list(of: "strings \"ADDR/LENGTH\"", 1...Settings.Rule.maxPreferred))
        case .addressSets(let value):
            self.init(term, value, Format.addressSet.oneOrMore(of: "sets", upTo: Settings.Rule.maxAddressSets))
        }
    }

    private init<Value>(_ term: RuleTerm, _ value: RuleTerm.Value<Value>, _ format: Format<Value>) {
        self.init(
            term.key, get: { value.read($0.terms) }, set: { value.write(&$0.terms, $1) }, format.optional)
    }
}

extension Settings.Rule {
    /// Maximum number of fallback addresses, more than a client tries.
    fileprivate static let maxFallbackAddresses = 16
    /// Maximum number of preferred ranges, as many as large edges have.
    fileprivate static let maxPreferred = 16
    /// Maximum number of sets. Each gets every address.
    fileprivate static let maxAddressSets = 8
}
