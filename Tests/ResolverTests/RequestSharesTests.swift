// Which requests run, which wait and which give up their place, on virtual time.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Request shares")
struct RequestSharesTests {
    private static let provider = ProviderID(0)
    private var shares = RequestShares()
    private let start = Instant.testStart
    private var next = 0

    private func at(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }

    /// A request for a name, at a provider with eight connections that answers within 40 ms.
    @discardableResult
    private mutating func add(_ name: String, with others: [String] = [], at milliseconds: Int, places: Int = 8)
        throws -> [RequestShares.Step]
    {
        let holder = ShareHolder(try #require(Name(name)), nil)
        shares.add(
            next, to: RequestSharesTests.provider, for: holder,
            others: try others.map { try #require(Name($0)) }, places: places, usualLatency: .milliseconds(40),
            now: at(milliseconds))
        next += 1
        return steps(at: milliseconds)
    }

    private mutating func steps(at milliseconds: Int) -> [RequestShares.Step] {
        var steps: [RequestShares.Step] = []
        while let step = shares.next(now: at(milliseconds)) { steps.append(step) }
        return steps
    }

    @Test("requests begin at once while there are places")
    mutating func room() throws {
        for number in 0..<8 { #expect(try add("n\(number).example", at: 0) == [.start(number)]) }
        #expect(shares.nextDeadline(now: at(0)) == nil)
        #expect(try add("n8.example", at: 1).isEmpty)
        shares.end(3, .answered, now: at(20))
        #expect(steps(at: 20) == [.start(8)])
    }

    @Test("a domain that holds all places gives one to another domain when its oldest request is overdue")
    mutating func displaced() throws {
        for number in 0..<8 { try add("n\(number).slow.example", at: number) }
        #expect(try add("www.good.example", at: 10).isEmpty)
        #expect(shares.nextDeadline(now: at(10)) == at(160))
        #expect(steps(at: 159).isEmpty)
        #expect(steps(at: 160) == [.displace(0), .start(8)])
        #expect(shares.displaced == 1 && shares.runningCount == 8)
    }

    @Test("domains with equal shares wait for each other, and then in vain")
    mutating func equals() throws {
        for number in 0..<8 { try add("n\(number).example", at: 0) }
        try add("n8.example", at: 10)
        #expect(steps(at: 209).isEmpty)
        #expect(steps(at: 210) == [.expire(8)])
        #expect(shares.expired == 1 && shares.waitingCount == 0)
    }

    @Test("after a silence, the overdue requests sent before its end give their places to others of their domain")
    mutating func silence() throws {
        try add("n0.example", at: 0)
        shares.end(0, .answered, now: at(40))
        for number in 1...8 { try add("n\(number).example", at: 5000 + 100 * number) }
        #expect(try add("n9.example", at: 6099).isEmpty)
        #expect(steps(at: 6100) == [.displace(1), .start(9)])
        shares.end(9, .answered, now: at(6140))
        for number in 10...16 {
            #expect(try add("n\(number).example", at: 6150).last == .start(number))
        }
    }

    @Test("a time without requests is no silence of the provider")
    mutating func idle() throws {
        try add("www.other.example", at: 0)
        shares.end(0, .answered, now: at(40))
        try add("given-up.example", at: 100)
        shares.end(1, .other, now: at(110))
        try add("www.quick.example", at: 5000)
        for number in 3...9 { #expect(try add("n\(number).zone.example", at: 5000) == [.start(number)]) }
        shares.end(2, .answered, now: at(5040))
        #expect(try add("n10.zone.example", at: 5041) == [.start(10)])
        #expect(try add("n11.zone.example", at: 5042).isEmpty)
        #expect(steps(at: 5160) == [.expire(11)])
    }

    @Test("a request sent just before a silence ended gives its place as soon as it is overdue")
    mutating func lateInSilence() throws {
        try add("n0.example", at: 0)
        shares.end(0, .answered, now: at(40))
        for number in 1...8 { try add("n\(number).example", at: 5000) }
        for number in 1...7 { shares.end(number, .other, now: at(5990)) }
        for number in 9...15 { try add("n\(number).example", at: 6000) }
        shares.end(9, .answered, now: at(6040))
        #expect(try add("n16.example", at: 6041) == [.start(16)])
        #expect(try add("n17.example", at: 6042) == [.displace(8), .start(17)])
        #expect(try add("n18.example", at: 6043).isEmpty, "numbers 10 to 15 may still be answered")
        #expect(steps(at: 6159).isEmpty)
        #expect(steps(at: 6160) == [.displace(10), .start(18)])
    }

    @Test("slow domains hold half of the places as soon as the provider answers others, and wait one usual time")
    mutating func slow() throws {
        for number in 0..<3 { try add("n\(number).slow.example", at: 0) }
        try add("www.good.example", at: 10)
        shares.end(3, .answered, now: at(50))
        #expect(try add("n4.slow.example", at: 200) == [.start(4)])
        #expect(shares.isSlow(try #require(Name("slow.example")), now: at(200)))
        #expect(try add("n5.slow.example", at: 210).isEmpty)
        #expect(try add("www.good.example", at: 220) == [.start(6)])
        #expect(steps(at: 250) == [.expire(5)])
        // A request that is given up for its own domain has had most of its time.
        #expect(try add("n7.slow.example", at: 2490).isEmpty)
        #expect(steps(at: 2500) == [.displace(0), .start(7)])
        #expect(!shares.isSlow(try #require(Name("slow.example")), now: at(12_500)))
    }

    @Test("while a provider answers nothing, time-outs say nothing about a domain")
    mutating func silentProvider() throws {
        try add("n0.slow.example", at: 0)
        shares.end(0, .timedOut, now: at(3000))
        #expect(!shares.isSlow(try #require(Name("slow.example")), now: at(3000)))
        try add("n1.slow.example", at: 3000)
        try add("www.good.example", at: 3010)
        shares.end(2, .answered, now: at(3050))
        shares.end(1, .timedOut, now: at(6000))
        #expect(shares.isSlow(try #require(Name("slow.example")), now: at(6000)))
    }

    @Test("no domain has more than an eighth of all requests")
    mutating func all() throws {
        for number in 0..<32 {
            #expect(try add("n\(number).slow.example", at: 0, places: 100) == [.start(number)])
        }
        #expect(try add("n32.slow.example", at: 1, places: 100).isEmpty)
        #expect(try add("www.good.example", at: 2, places: 100) == [.start(33)])
    }

    @Test("one that leaves the queue is not started, and one that is not known is ignored")
    mutating func left() throws {
        for number in 0..<9 { try add("n\(number).example", at: 0) }
        shares.end(8, .other, now: at(1))
        shares.end(99, .other, now: at(1))
        shares.end(0, .answered, now: at(2))
        #expect(steps(at: 2).isEmpty && shares.runningCount == 7 && shares.waitingCount == 0)
    }

    @Test("of a shared request that times out each domain is asked alone, and the slow one is found")
    mutating func shared() throws {
        let (good, hung) = (try #require(Name("good.example")), try #require(Name("hung.example")))
        try add("www.good.example", with: ["hung.example", "early.example"], at: 0)
        shares.leave(0, try #require(Name("early.example")))
        shares.end(0, .timedOut, now: at(3000))
        #expect(shares.isAskedAlone(good, now: at(3000)) && shares.isAskedAlone(hung, now: at(3000)))
        #expect(!shares.isAskedAlone(try #require(Name("early.example")), now: at(3000)))
        #expect(!shares.isSlow(good, now: at(3000)) && !shares.isSlow(hung, now: at(3000)))
        try add("n1.hung.example", at: 3100)
        try add("www.good.example", at: 3100)
        shares.end(2, .answered, now: at(3140))
        #expect(!shares.isAskedAlone(good, now: at(3140)))
        shares.end(1, .timedOut, now: at(6100))
        #expect(shares.isSlow(hung, now: at(6100)) && !shares.isAskedAlone(good, now: at(6100)))
    }

    @Test("what a provider answered is forgotten when it is not configured any more")
    mutating func removedProvider() throws {
        try add("n0.slow.example", at: 0)
        try add("www.good.example", at: 10)
        shares.end(1, .answered, now: at(50))
        shares.keep([])
        shares.end(0, .timedOut, now: at(3000))
        #expect(!shares.isSlow(try #require(Name("slow.example")), now: at(3000)))
    }

    @Test("many domains that find no place do not keep another provider's request waiting")
    mutating func crowd() throws {
        for number in 0..<8 { try add("n\(number).hung\(number).example", at: 0) }
        for number in 0..<20 { #expect(try add("www.waiting\(number).example", at: 1).isEmpty) }
        let holder = ShareHolder(try #require(Name("www.good.example")), nil)
        shares.add(next, to: ProviderID(1), for: holder, places: 8, usualLatency: .milliseconds(40), now: at(2))
        #expect(steps(at: 2) == [.start(next)])
        shares.end(3, .answered, now: at(3))
        #expect(steps(at: 3) == [.start(8)])
    }

    /// The queue is read from where the last call stopped. A copy that has forgotten this must find no step either.
    @Test("no step is missed for a request that had no slot before", arguments: 1...20 as ClosedRange<UInt64>)
    mutating func fromTheFront(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let clients = [0xC000_0201, 0xC000_0202, 0x7F00_0001].map { ClientID(.v4($0)) }
        shares = RequestShares(capacity: 24)
        let providers = [ProviderID(0), ProviderID(1)]
        for turn in 0..<600 {
            let milliseconds = turn * 11
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let name = "n\(next).d\(Int.random(in: 0..<6, using: &random)).example"
                let holder = ShareHolder(try #require(Name(name)), clients.randomElement(using: &random))
                shares.add(
                    next, to: providers[Int.random(in: 0..<2, using: &random)], for: holder, places: 8,
                    usualLatency: .milliseconds(40), now: at(milliseconds))
                next += 1
                _ = steps(at: milliseconds)
            }
            for _ in 0..<Int.random(in: 0..<3, using: &random) where next > 0 {
                let end: RequestShares.End = Bool.random(using: &random) ? .answered : .timedOut
                shares.end(Int.random(in: max(0, next - 40)..<next, using: &random), end, now: at(milliseconds))
            }
            _ = steps(at: milliseconds)
            var fresh = shares
            fresh.keep(providers)
            #expect(fresh.next(now: at(milliseconds)) == nil, "seed \(seed), turn \(turn)")
            #expect(shares.nextDeadline(now: at(milliseconds)) == fresh.nextDeadline(now: at(milliseconds)))
        }
        #expect(shares.expired > 0 && shares.displaced > 0, "seed \(seed)")
    }
}
