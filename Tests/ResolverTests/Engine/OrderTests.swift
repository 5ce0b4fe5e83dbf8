// Results from tables keyed by names: their order does not depend on the order of insertion.

import DNSWire
import Testing

@testable import Resolver

@Suite("Order of results")
struct OrderTests {
    private let names = (0..<60).compactMap { Name("n\($0).example") }

    /// Compares the results for the names in order and in reverse order.
    private func check(_ what: Comment, _ make: ([Name]) -> [Name]) {
        let one = make(names)
        #expect(one == names.sorted() && make(names.reversed()) == one, what)
    }

    @Test("names that come out of a table come in the order of names")
    func namesOfTables() {
        check("rules that limit what is accepted") { names in
            var policy = Policy()
            policy.rules = RuleTable(rules(names))
            return policy.namesWithAcceptanceTerms
        }
        check("rules that differ") { names in
            var policy = Policy()
            policy.rules = RuleTable(rules(names))
            return policy.answersDiffering(from: Policy()).map(\.name)
        }
        check("zones that differ") { LocalZones($0).differing(from: LocalZones([])) }
        check("names that are switched on together") { names in
            var providers = ProviderSwitch()
            for name in names { _ = providers.switchOff(name, untilMilliseconds: nil) }
            return providers.switchOn(nil)
        }
        check("names whose switch ends") { names in
            var providers = ProviderSwitch()
            for name in names { _ = providers.switchOff(name, untilMilliseconds: 1) }
            return providers.expire(nowMilliseconds: 2)
        }
        check("accounts that differ") { names in
            let table = AccountTable([AccountNames(ProviderID(1), names.map { QuestionScope($0) })])
            return table.scopesDiffering(from: AccountTable([])).map(\.name)
        }
        check("domains of links") { names in
            let link = AnnouncingLink(interface: "tun0", servers: [], domains: names)
            var domains = LinkDomains()
            domains.set([link])
            return LinkRoutes(domains) { _ in nil }.domains { _, _ in false }
        }
    }

    private func rules(_ names: [Name]) -> [Rule] {
        names.map { name in
            var rule = Rule(match: [name])
            rule.upstreams = .nameserver(NameserverID(0))
            return rule
        }
    }
}
