// The number of sites that discredit a source, and the time for which each counts.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Credibility")
struct CredibilityTests {
    private let start = Instant.testStart

    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    @Test("one site cannot discredit a source, however many of its names are forged and however often")
    func oneSite() throws {
        var credibility = Credibility()
        for second in 0..<3000 {
            credibility.recordForged(about: try name("n\(second % 50).site.co.uk"), now: start + .seconds(second))
            #expect(!credibility.isLost(start + .seconds(second)))
            #expect(credibility.share(start + .seconds(second)) >= 0.5)
        }
    }

    @Test("three registrable domains within an hour discredit a fresh source, two do not; a public suffix is none")
    func threeSites() throws {
        var credibility = Credibility()
        for domain in ["www.a.co.uk", "www.b.co.uk", "mail.b.co.uk"] {
            credibility.recordForged(about: try name(domain), now: start)
            #expect(!credibility.isLost(start))
        }
        credibility.recordForged(about: try name("c.co.uk"), now: start)
        #expect(credibility.isLost(start) && credibility.share(start) < 0.2)
        #expect(!credibility.isLost(start + .seconds(3601)), "it decays, and the domains are an hour old")
    }

    @Test("domains of different hours do not add up")
    func apart() throws {
        var credibility = Credibility()
        for number in 0..<20 {
            let now = start + .seconds(1801 * number)
            credibility.recordForged(about: try name("www.site\(number).com"), now: now)
            #expect(!credibility.isLost(now))
        }
    }

    @Test("one site does not make a forger credible either")
    func oneTrueSite() throws {
        var credibility = Credibility()
        for number in 0..<200 { credibility.recordConfirmed(about: try name("n\(number).site.com"), now: start) }
        for number in 0..<3 { credibility.recordForged(about: try name("www.site\(number).org"), now: start) }
        #expect(credibility.isLost(start))
    }

    @Test("a domain counts again after an hour; the table of domains is bounded, and the oldest makes room")
    func bound() throws {
        var domains = CountedDomains()
        let first = try name("www.first.com")
        domains.add(first, now: start)
        domains.add(first, now: start + .seconds(3599))
        #expect(domains.distinctDomains(start + .seconds(3599)) == 1 && domains.distinctDomains(start) == 1)
        let before = domains.value(start + .seconds(3601))
        domains.add(first, now: start + .seconds(3601))
        #expect(domains.value(start + .seconds(3601)) > before + 0.9)
        let later = start + .seconds(8000)
        for number in 0..<(Bounds.maxCountedDomains + 10) {
            domains.add(try name("www.site\(number).com"), now: later + .milliseconds(number))
        }
        #expect(domains.distinctDomains(later + .seconds(1)) == Bounds.maxCountedDomains)
        #expect(domains.evictions == 10)
    }
}
