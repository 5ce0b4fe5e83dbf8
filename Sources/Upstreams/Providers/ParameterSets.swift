// The parameters of requests to one provider: the provider's own, and those of names with a rule.

import DNSWire
import Settings

struct ParameterSets {
    /// The parameter sets, the provider's own first.
    private let sets: [Settings.RequestParameters]
    private let setOfName: [Name: Int]
    /// The sets as text, equal on every machine with the same settings.
    private let texts: [String]

    init(_ own: Settings.RequestParameters, ofNames: [Name: Settings.RequestParameters]) {
        let ofNames = ofNames.sorted { $0.key.description < $1.key.description }
        sets = [own] + ofNames.map(\.value)
        texts = sets.map { parameters in
            let query = parameters.sortedQuery.map { "\($0.name)=\($0.value)" }
            return "\(query) \(parameters.tags) \(parameters.appID ?? "")"
        }
        setOfName = Dictionary(uniqueKeysWithValues: ofNames.enumerated().map { ($1.key, $0 + 1) })
    }

    /// Returns the number of the set for a name: that of the longest name in the settings that contains it.
    func number(for name: Name) -> Int {
        guard !setOfName.isEmpty else { return 0 }
        return sequence(first: name, next: \.parent).lazy.compactMap { setOfName[$0] }.first ?? 0
    }

    func text(for name: Name) -> String { texts[number(for: name)] }

    subscript(number: Int) -> Settings.RequestParameters { sets[number] }
}
