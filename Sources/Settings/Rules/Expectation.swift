// A rule's `expect`: the properties of genuine answers for its names. Written as an inline table or as [rule.expect].

import DNSWire

extension RuleExpectation {
    /// The bounds of the maximum TTL. A longer one has no effect: caches keep no answer longer (RFC 8767 section 4).
    private static let ttls = Duration.seconds(1)...Duration.seconds(7 * 24 * 3600)
    /// Maximum number of networks, which are compared one by one with each address.
    private static let maxNetworks = 64

    static let keys: [Key<RuleExpectation>] = [
        Key("cname", \.hasAlias, Format.truth.optional),
        Key("max-ttl", \.maxTTL, Format.wholeSeconds(ttls).optional),
        Key("within", \.networks, Format.prefix.list(of: "strings \"ADDR/LENGTH\"", 1...maxNetworks).leavingOut([])),
    ]
}

extension Format<RuleExpectation> {
    /// The format of `expect`. The empty table exempts names from the expectation of a rule for a shorter name.
    static let expectation: Format = {
        let allowed =
            "a table of cname (true or false), max-ttl (a duration from 1s to 168h) and within (an array of networks "
            + "\"ADDR/LENGTH\"), or {} for no expectation"
        return Format(
            allowed: allowed, schema: .table(RuleExpectation.keys.map { ($0.name, $0.schema(nil)) }),
            read: { node throws(Misfit) in
                guard case .table(let members) = node.value else { throw Misfit(node, allowed: allowed) }
                var expectation = RuleExpectation()
                var faults: [Misfit.Fault] = []
                for (name, member) in members {
                    guard let key = RuleExpectation.keys.first(where: { $0.name == name }) else {
                        let near = nearestName(to: name, among: RuleExpectation.keys.map(\.name))
                        let found = near == nil ? "an unknown key\(hiddenName)" : "unknown key \(quoted(name));"
                        let text = "found \(found) allowed: \(allowed)"
                        faults.append(.init(node: member.index, text: text))
                        continue
                    }
                    do throws(Misfit) {
                        try key.read(member, &expectation)
                    } catch {
                        faults += error.faults.map { .init(node: $0.node, text: "\(name): \($0.text)") }
                    }
                }
                guard faults.isEmpty else { throw Misfit(faults) }
                return expectation
            },
            write: { expectation in
                let pairs = RuleExpectation.keys.compactMap { key in
                    key.write(expectation).map { "\(key.name) = \($0)" }
                }
                return "{\(pairs.joined(separator: ", "))}"
            })
    }()
}
