// The table of rule terms, compared with the properties: a term that is missing in a merge or a row would have no
// effect.

import Testing

@testable import DNSWire

@Suite("Terms of rules")
struct RuleTermsTests {
    private static let rows = RuleTerm.rows + RuleTerm.laterRows

    /// The terms of a rule that has this term alone.
    private static func sample(_ row: RuleTerm) throws -> RuleTerms {
        var terms = RuleTerms()
        switch row.syntax {
        case .truth(let value): value.write(&terms, true)
        case .word(let value, let words): value.write(&terms, words.last)
        case .integer(let value, let range, _): value.write(&terms, range.upperBound)
        case .ttl(let value): value.write(&terms, .milliseconds(1500))
        case .ports(let value): value.write(&terms, [443, 8443])
        case .addresses(let value): value.write(&terms, ["192.0.2.1", "2001:db8::1"].compactMap { Address($0) })
        case .expectation(let value): value.write(&terms, RuleExpectation())
        case .prefixes(let value): value.write(&terms, ["203.0.113.0/24", "192.0.2.1"].compactMap { Prefix($0) })
        case .addressSets(let value): value.write(&terms, [try #require(AddressSetTarget("ip#t#s"))])
        }
        return terms
    }

    @Test("each property has a row")
    func rows() {
        #expect(Mirror(reflecting: RuleTerms()).children.count == RuleTermsTests.rows.count)
        #expect(Set(RuleTermsTests.rows.map(\.key)).count == RuleTermsTests.rows.count)
    }

    @Test("a rule without a term takes that of a shorter name")
    func filled() throws {
        for row in RuleTermsTests.rows {
            let sample = try RuleTermsTests.sample(row)
            #expect(sample != RuleTerms(), "\(row.key)")
            var terms = RuleTerms()
            terms.fill(from: sample)
            #expect(terms == sample, "\(row.key)")
            terms.fill(from: RuleTerms())
            #expect(terms == sample, "\(row.key)")
        }
    }

    @Test("of two rules for a name the first one counts, unless the other one excludes")
    func joined() throws {
        for row in RuleTermsTests.rows {
            let sample = try RuleTermsTests.sample(row)
            for (one, other) in [(sample, RuleTerms()), (RuleTerms(), sample)] {
                var terms = one
                terms.join(other)
                #expect(terms == sample, "\(row.key)")
            }
        }
        var (open, closed) = (RuleTerms(), RuleTerms())
        (open.probe, open.standsIn, open.order) = (true, .anyFailure, .systemFirst)
        (closed.probe, closed.standsIn, closed.order) = (false, .never, .providersFirst)
        for (one, other) in [(open, closed), (closed, open)] {
            var terms = one
            terms.join(other)
            #expect(terms.probe == false && terms.standsIn == .never && terms.order == one.order)
        }
    }

    @Test("each term is shown as in the settings")
    func words() throws {
        let shown = try RuleTermsTests.rows.flatMap { try RuleTermsTests.sample($0).words(of: RuleTermsTests.rows) }
        #expect(
            shown == [
                "stands-in = never", "order = system-first", "family = prefer-ipv6", "allow-private = true",
                "stale = true", "stale-negative = true", "prefetch = true", "probe = true",
                "probe-ports = [443, 8443]", "connect = 65535", "min-ttl = 1s", "max-ttl = 1s",
                "fallback-addresses = 192.0.2.1 2001:db8::1", "expect = {}",
                "prefer-addresses = 203.0.113.0/24 192.0.2.1/32", "nftset = ip#t#s",
            ])
    }

    @Test("cached answers depend on the order of upstreams, the family and the expectation; acceptance on the last one")
    func scopes() throws {
        let keys = try RuleTermsTests.rows.filter { try RuleTermsTests.sample($0).mayDiffer(from: RuleTerms()) }
        #expect(keys.map(\.key) == ["stands-in", "order", "family", "expect"])
        let terms = try RuleTermsTests.rows.flatMap { try RuleTermsTests.sample($0).acceptance }
        #expect(terms == ["{}"])
    }

    @Test("no addresses are no term, nor are a number out of range and an unknown word")
    func values() {
        var terms = RuleTerms()
        for row in RuleTermsTests.rows {
            if case .addresses(let value) = row.syntax { value.write(&terms, []) }
            if case .integer(let value, _, _) = row.syntax { value.write(&terms, .max) }
            if case .word(let value, _) = row.syntax { value.write(&terms, "?") }
        }
        #expect(terms == RuleTerms())
    }
}
