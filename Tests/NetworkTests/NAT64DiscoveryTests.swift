// The queries for a network's NAT64 prefix and the accepted answers, on the test's own clock.

import DNSWire
import Network
import TestSupport
import Testing

@Suite("Finding the prefix of a network that translates")
struct NAT64DiscoveryTests {
    private let start = Instant.testStart
    private let home = NetworkID(rawValue: 1)
    private let office = NetworkID(rawValue: 2)
    private let onlyIPv6: NetworkReach
    private let dual = NetworkReach.everything
    private let wellKnown: NAT64Prefix
    private let other: NAT64Prefix
    private let announced: [Address]
    private let otherAnnounced: [Address]

    init() throws {
        onlyIPv6 = NetworkReach(prefixes: [try #require(Prefix("::/0"))])
        wellKnown = .wellKnown
        other = try #require(Prefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) })
        announced = ["64:ff9b::c000:aa", "64:ff9b::c000:ab"].compactMap { Address($0) }
        otherAnnounced = ["2001:db8:64::c000:aa"].compactMap { Address($0) }
    }

    private func at(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    /// A discovery on the network `home` that has asked and has no answer yet.
    private func asking() -> NAT64Discovery {
        var discovery = NAT64Discovery()
        discovery.networkChanged(to: home, onlyIPv6, advertised: [], now: start)
        discovery.asked()
        return discovery
    }

    @Test("a network with IPv6 only is asked at once, for AAAA of ipv4only.arpa")
    func asksAtOnce() {
        var discovery = NAT64Discovery()
        #expect(discovery.askAt == nil)
        discovery.networkChanged(to: home, onlyIPv6, advertised: [], now: start)
        #expect(discovery.askAt == start && discovery.prefixes.isEmpty)
        #expect(NAT64Discovery.question.description == "ipv4only.arpa AAAA")
        discovery.asked()
        #expect(discovery.askAt == nil)
    }

    @Test("with an IPv4 default route, or without any, the prefix is not queried")
    func needless() throws {
        let onlyIPv4 = NetworkReach(prefixes: [try #require(Prefix("0.0.0.0/0"))])
        for reach in [dual, onlyIPv4, NetworkReach(prefixes: [])] {
            var discovery = NAT64Discovery()
            let isNews = discovery.networkChanged(to: home, reach, advertised: [wellKnown], now: start)
            #expect(!isNews && discovery.askAt == nil && discovery.prefixes.isEmpty)
        }
    }

    @Test("what is found is in force until ten seconds before its end, and is asked for again then")
    func refreshed() {
        var discovery = asking()
        #expect(discovery.answered(announced, ttlSeconds: 600, now: at(1)) == true)
        #expect(discovery.prefixes == [wellKnown] && discovery.askAt == at(591))
        discovery.asked()
        #expect(discovery.prefixes == [wellKnown])
        #expect(discovery.answered(announced, ttlSeconds: 600, now: at(592)) == false)
        #expect(discovery.askAt == at(1182))
        discovery.asked()
        #expect(discovery.answered(otherAnnounced, ttlSeconds: 600, now: at(1183)) == true)
        #expect(discovery.prefixes == [other])
    }

    @Test("a lifetime of a moment, or of years, leads to one question in a minute, or in a day")
    func lifetimes() {
        var short = asking()
        _ = short.answered(announced, ttlSeconds: 0, now: start)
        #expect(short.askAt == at(60))
        var long = asking()
        _ = long.answered(announced, ttlSeconds: .max, now: start)
        #expect(long.askAt == at(86_400))
    }

    @Test("a network that translates nothing is asked again, within the hour")
    func nothing() {
        var discovery = asking()
        #expect(discovery.answered([], ttlSeconds: 300, now: start) == false)
        #expect(discovery.prefixes.isEmpty && discovery.askAt == at(290))
        discovery.asked()
        #expect(discovery.answered([], ttlSeconds: 86_400, now: at(290)) == false)
        #expect(discovery.askAt == at(290 + 3600))
    }

    @Test("silence is answered by asking less and less, down to once a minute")
    func backOff() {
        var discovery = asking()
        var now = start
        var pauses: [Double] = []
        for _ in 0..<9 {
            discovery.failed(now: now)
            let next = discovery.askAt ?? now
            pauses.append(now.duration(to: next) / .seconds(1))
            now = next
            discovery.asked()
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        _ = discovery.answered(announced, ttlSeconds: 60, now: now)
        discovery.asked()
        discovery.failed(now: now)
        #expect(discovery.askAt == now + .seconds(1))
        #expect(discovery.prefixes == [wellKnown], "a prefix stays in force while its nameserver is silent")
    }

    @Test("on another network nothing of the former one is in force, and a late answer from there is ignored")
    func anotherNetwork() {
        var discovery = asking()
        _ = discovery.answered(announced, ttlSeconds: 600, now: start)
        discovery.networkChanged(to: office, onlyIPv6, advertised: [], now: at(5))
        #expect(discovery.prefixes.isEmpty && discovery.askAt == at(5))
        #expect(discovery.answered(announced, ttlSeconds: 600, now: at(5)) == false)
        discovery.failed(now: at(5))
        #expect(discovery.prefixes.isEmpty && discovery.askAt == at(5))
        discovery.networkChanged(to: office, dual, advertised: [], now: at(6))
        #expect(discovery.prefixes.isEmpty && discovery.askAt == nil)
    }

    @Test("a known network's prefix is in force at once, and asked for again")
    func knownNetwork() {
        var discovery = asking()
        _ = discovery.answered(announced, ttlSeconds: 600, now: start)
        discovery.networkChanged(to: office, dual, advertised: [], now: at(5))
        #expect(discovery.networkChanged(to: home, onlyIPv6, advertised: [], now: at(10)) == false)
        #expect(discovery.prefixes == [wellKnown] && discovery.askAt == at(10))
        discovery.asked()
        #expect(discovery.answered(announced, ttlSeconds: 600, now: at(10.1)) == false)
        discovery.networkChanged(to: home, onlyIPv6, advertised: [], now: at(20))
        discovery.asked()
        #expect(discovery.answered([], ttlSeconds: 600, now: at(20.1)) == true)
        #expect(discovery.prefixes.isEmpty)
    }

    @Test("eight networks are remembered, and the one that was away longest is forgotten")
    func bounded() {
        var discovery = NAT64Discovery()
        for number in 1...9 {
            discovery.networkChanged(
                to: NetworkID(rawValue: UInt32(number)), onlyIPv6, advertised: [], now: start)
            discovery.asked()
            _ = discovery.answered(announced, ttlSeconds: 600, now: start)
        }
        for number in 1...9 {
            discovery.networkChanged(
                to: NetworkID(rawValue: UInt32(number)), onlyIPv6, advertised: [], now: start)
            #expect(discovery.prefixes.isEmpty == (number == 1), "\(number)")
        }
    }

    @Test("prefixes that routers advertise replace the nameserver's, and no query is sent")
    func advertised() {
        var discovery = asking()
        _ = discovery.answered(announced, ttlSeconds: 600, now: start)
        #expect(discovery.networkChanged(to: home, onlyIPv6, advertised: [other, wellKnown], now: at(1)) == true)
        #expect(discovery.prefixes == [other, wellKnown] && discovery.askAt == nil)
        #expect(discovery.networkChanged(to: home, onlyIPv6, advertised: [other, wellKnown], now: at(2)) == false)
        let many = (0..<9).compactMap { NAT64Prefix(announcedBy: .v6(high: $0, low: 0xC000_00AA)) }
        #expect(many.count == 9)
        discovery.networkChanged(to: office, onlyIPv6, advertised: many, now: at(3))
        #expect(discovery.prefixes == Array(many.prefix(4)))
    }
}
