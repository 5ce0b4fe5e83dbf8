// The addresses that the daemon sends to its helper, and their times, on the test's clock.

import DNSWire
import Testing

@testable import SetFeed

@Suite struct SetElementsTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    /// The daemon's side, with a helper whose replies the test gives.
    private struct Stand {
        var elements = SetElements()
        var now = SetElementsTests.start

        init(_ states: [(String, SetState)]) throws {
            elements.configure(try states.map { try #require(AddressSetTarget($0.0)) })
            for (name, state) in states {
                let request = try request()
                #expect(request.set.description == name)
                #expect(request.elements.isEmpty)
                _ = elements.answered(request.number, state, now: now)
            }
        }

        mutating func add(_ address: Address, _ set: String = "ip#t#s", seconds: Int, kept: Int? = nil) throws {
            let target = try #require(AddressSetTarget(set))
            elements.add(
                address, to: target, needed: now + .seconds(seconds), until: now + .seconds(kept ?? seconds), now: now)
        }

        mutating func request() throws -> SetRequest {
            let request = elements.takeRequest(now: now)
            return try #require(request)
        }

        /// The elements of the next request, to which the helper replies with `state`.
        mutating func sent(_ state: SetState = .ready(.a)) -> [SetElement]? {
            guard let request = elements.takeRequest(now: now) else { return nil }
            _ = elements.answered(request.number, state, now: now)
            return request.elements
        }
    }

    private static let one = Address.v4(0xC000_0201)
    private static let two = Address.v4(0xC000_0202)
    private static let six = Address.v6(high: 0x2001_0DB8_0000_0000, low: 1)

    @Test func anAddressIsSentOnceInItsLife() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 60)
        #expect(stand.sent() == [SetElement(address: Self.one, timeoutSeconds: 60)])
        stand.now += .seconds(10)
        try stand.add(Self.one, seconds: 50)
        #expect(stand.sent() == nil)
        // A refreshed answer lives longer.
        try stand.add(Self.one, seconds: 60)
        #expect(stand.sent() == [SetElement(address: Self.one, timeoutSeconds: 60)])
        #expect(stand.elements.counts.added == 2)
    }

    @Test func aTimeoutIsRoundedUpAndCountsFromTheSending() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 60)
        stand.now += .milliseconds(2500)
        #expect(stand.sent() == [SetElement(address: Self.one, timeoutSeconds: 58)])
    }

    @Test func anElementThatEndedWhileItWaitedStillGetsTheLeastTimeout() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 2)
        stand.now += .seconds(5)
        #expect(stand.sent() == [SetElement(address: Self.one, timeoutSeconds: 1)])
    }

    @Test func repeatedRepliesWithTheSameTTLProlongOnceInTheirTime() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        var requests = 0
        for _ in 0..<600 {
            try stand.add(Self.one, seconds: 30, kept: 60)
            if let elements = stand.sent() {
                #expect(elements == [SetElement(address: Self.one, timeoutSeconds: 60)])
                requests += 1
            }
            stand.now += .milliseconds(100)
        }
        #expect(requests == 2)
    }

    @Test func whileARequestIsUnansweredTheNextOneGathers() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 60)
        let first = try stand.request()
        for last in 10..<400 { try stand.add(.v4(0xC000_0000 + UInt32(last)), seconds: 60) }
        try stand.add(.v4(0xC000_000A), seconds: 90)
        #expect(stand.elements.takeRequest(now: stand.now) == nil)
        _ = stand.elements.answered(first.number, .ready(.a), now: stand.now)
        let sent = stand.sent()
        let second = try #require(sent)
        #expect(second.count == SetRequest.maxElements)
        #expect(second.first == SetElement(address: .v4(0xC000_000A), timeoutSeconds: 90))
        #expect(stand.sent()?.count == 390 - SetRequest.maxElements)
        #expect(stand.elements.waitingCount == 0)
    }

    @Test func eachSetGetsItsType() throws {
        var stand = try Stand([("ip#t#s", .ready(.a)), ("ip6#t#s", .ready(.aaaa)), ("inet#t#w", .ready(.aaaa))])
        for set in ["ip#t#s", "ip6#t#s", "4#inet#t#w"] {
            try stand.add(Self.one, set, seconds: 60)
            try stand.add(Self.six, set, seconds: 60)
        }
        #expect(stand.sent() == [SetElement(address: Self.one, timeoutSeconds: 60)])
        #expect(stand.sent(.ready(.aaaa)) == [SetElement(address: Self.six, timeoutSeconds: 60)])
        #expect(stand.sent() == nil)
        #expect(stand.elements.counts.dropped == 0)
    }

    @Test func aSetThatIsNotReadyDropsAndIsAskedForAgain() throws {
        var stand = try Stand([("ip#t#s", .missing)])
        try stand.add(Self.one, seconds: 600)
        #expect(stand.sent() == nil)
        #expect(stand.elements.counts.dropped == 1)
        let recheck = try #require(stand.elements.nextDeadline)
        #expect(recheck == Self.start + .seconds(2))
        stand.now = recheck
        stand.elements.timePassed(now: stand.now)
        let request = try stand.request()
        #expect(request.elements.isEmpty)
        let set = try #require(AddressSet("ip#t#s"))
        #expect(stand.elements.answered(request.number, .ready(.a), now: stand.now) == set)
        try stand.add(Self.one, seconds: 570)
        #expect(stand.sent() == [SetElement(address: Self.one, timeoutSeconds: 570)])
    }

    @Test func aRefusedRequestIsCountedAndItsElementsAreForgotten() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 60)
        let request = try stand.request()
        try stand.add(Self.two, seconds: 60)
        let set = try #require(AddressSet("ip#t#s"))
        #expect(stand.elements.answered(request.number, .missing, now: stand.now) == set)
        #expect(stand.elements.counts.failed == 1)
        #expect(stand.elements.counts.dropped == 1)
        #expect(stand.elements.waitingCount == 0)
    }

    @Test func onlyRefusedElementsAreSentAgain() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 300)
        try stand.add(Self.two, seconds: 300)
        let request = try stand.request()
        #expect(stand.elements.setOfRequest(request.number) == request.set)
        #expect(stand.elements.answered(request.number, .ready(.a), refused: [1, 7], now: stand.now) == nil)
        #expect(stand.elements.counts.added == 1 && stand.elements.counts.failed == 1)
        #expect(stand.elements.setOfRequest(request.number) == nil)
        // An answer for a name with a smaller TTL contains both addresses.
        try stand.add(Self.one, seconds: 60)
        try stand.add(Self.two, seconds: 60)
        #expect(stand.sent() == [SetElement(address: Self.two, timeoutSeconds: 60)])
    }

    @Test func remediesFitTheAddressesThatRulesWant() throws {
        func ends(_ target: String, _ state: SetState, _ type: String, after: String = "") throws {
            var elements = SetElements()
            let target = try #require(AddressSetTarget(target))
            elements.configure([target])
            let asked = elements.takeRequest(now: Self.start)
            _ = elements.answered(try #require(asked).number, state, now: Self.start)
            let command = "\(after)nft add set \(target.set.words) '{ type \(type); flags timeout; }'"
            #expect(elements.fault(of: target.set)?.hasSuffix(": " + command) == true, "\(command)")
        }
        try ends("inet#t#s", .missing, "ipv4_addr")
        try ends("6#inet#t#s", .missing, "ipv6_addr")
        try ends("4#inet#t#v6", .missing, "ipv4_addr")
        try ends("inet#t#v6", .missing, "ipv6_addr")
        try ends("inet#t#s", .noTable, "ipv4_addr", after: "nft add table inet t; ")
        try ends("inet#t#s", .untimed(.aaaa), "ipv6_addr", after: "nft delete set inet t s; ")
        try ends("6#inet#t#s", .otherType, "ipv6_addr", after: "nft delete set inet t s; ")
        try ends("inet#t#s", .map, "ipv4_addr", after: "nft delete map inet t s; ")
    }

    @Test func repliesToOtherRequestsAreIgnored() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 60)
        let request = try stand.request()
        #expect(stand.elements.answered(request.number &+ 1, .missing, now: stand.now) == nil)
        #expect(stand.elements.counts.failed == 0)
        #expect(!stand.elements.hasRequest)
        #expect(stand.elements.answerDueAt == Self.start + .seconds(10))
    }

    @Test func afterAChangeOfTheRulesetEverythingIsAskedAndSentAgain() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        try stand.add(Self.one, seconds: 60)
        _ = stand.sent()
        stand.elements.forget()
        #expect(stand.elements.hasRequest)
        #expect(stand.sent() == [])
        try stand.add(Self.one, seconds: 60)
        #expect(stand.sent() == [SetElement(address: Self.one, timeoutSeconds: 60)])
    }

    @Test func aFullQueueDropsAndCounts() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        for number in 0..<SetElements.maxWaiting + 100 { try stand.add(.v4(UInt32(number)), seconds: 60) }
        #expect(stand.elements.waitingCount == SetElements.maxWaiting)
        #expect(stand.elements.counts.dropped == 100)
        while stand.sent() != nil {}
        #expect(stand.elements.counts.added == UInt64(SetElements.maxWaiting))
        // A dropped address is accepted when there is room again.
        try stand.add(.v4(UInt32(SetElements.maxWaiting)), seconds: 60)
        #expect(stand.sent()?.count == 1)
    }

    @Test func theTableOfKnownElementsIsBoundedAndRidOfEndedOnes() throws {
        var stand = try Stand([("ip#t#s", .ready(.a))])
        for number in 0..<SetElements.maxKnown + 50 {
            try stand.add(.v4(UInt32(number)), seconds: 60)
            if number % 128 == 127 { _ = stand.sent() }
        }
        while stand.sent() != nil {}
        #expect(stand.elements.counts.dropped == 50)
        stand.now += .seconds(61)
        try stand.add(Self.one, seconds: 60)
        #expect(stand.sent()?.count == 1)
    }
}
