// The shares of TCP connections: of one client, of one network, of this machine, and of all others.

import DNSWire
import TestSupport
import Testing

@testable import Serving

struct ConnectionQuotaTests {
    private let loopback = ServingStand.loopback

    /// The number of clients that get a connection.
    private func admitted(_ quota: inout ConnectionQuota, _ clients: [Address]) -> Int {
        clients.count { client in
            guard quota.fullShare(for: client) == nil else { return false }
            quota.admit(client)
            return true
        }
    }

    @Test("one client elsewhere gets 128 connections, and what it gives back it gets again")
    func client() {
        for client in [Address.v4(0xC0A8_0101), .v6(high: 0x2001_0DB8 << 32, low: 1)] {
            var quota = ConnectionQuota()
            #expect(admitted(&quota, Array(repeating: client, count: 200)) == 128)
            #expect(quota.fullShare(for: client) == .client(client))
            quota.release(client)
            #expect(admitted(&quota, [client, client]) == 1 && quota.count == 128)
        }
    }

    @Test("one network of clients can't take all connections, however many addresses it has")
    func prefix() {
        var quota = ConnectionQuota()
        #expect(admitted(&quota, (0..<1000).map { .v4(0xC0A8_0100 + $0 % 256) }) == 256)
        #expect(quota.fullShare(for: .v4(0xC0A8_0105)) == .prefix(AggregatePrefix(of: .v4(0xC0A8_0101))))
        #expect(admitted(&quota, (0..<10).map { .v4(0xC0A8_0200 + $0) }) == 10)
        var other = ConnectionQuota()
        #expect(admitted(&other, (0..<1000).map { .v6(high: 0x2001_0DB8_0000_0000 + $0 % 256, low: $0) }) == 256)
        #expect(admitted(&other, [.v6(high: 0x2001_0DB8_0000_0100, low: 1)]) == 1)
        // An IPv4 client on a socket of both families counts for its IPv4 network.
        var mapped = ConnectionQuota()
        #expect(admitted(&mapped, (0..<300).map { .v6(high: 0, low: 0xFFFF_C0A8_0100 + $0 % 256) }) == 256)
        #expect(admitted(&mapped, [.v4(0xC0A8_01FF)]) == 0)
    }

    @Test("each side may have what the other leaves, and the larger side makes room when all places are taken")
    func sides() {
        let many = (0..<2000).map { Address.v4(0x0A00_0000 + $0 << 8) }
        var quota = ConnectionQuota()
        #expect(admitted(&quota, many) == ConnectionQuota.maxConnections)
        for place in 0..<256 {
            #expect(quota.fullShare(for: loopback) == .elsewhere)
            quota.release(many[place])
            quota.admit(loopback)
        }
        // With equal halves, a new connection replaces one of its own side.
        #expect(quota.fullShare(for: loopback) == .thisMachine && quota.fullShare(for: many[999]) == .elsewhere)
        var alone = ConnectionQuota()
        #expect(admitted(&alone, Array(repeating: loopback, count: 600)) == ConnectionQuota.maxConnections)
        #expect(alone.fullShare(for: loopback) == .thisMachine && alone.fullShare(for: many[0]) == .thisMachine)
    }

    @Test("a share has the connections that are counted in it")
    func membership() {
        let client = Address.v4(0xC0A8_0101)
        let prefix = ConnectionQuota.Share.prefix(AggregatePrefix(of: client))
        #expect(ConnectionQuota.Share.client(client).contains(client) && prefix.contains(.v4(0xC0A8_01FF)))
        #expect(!prefix.contains(.v4(0xC0A8_0201)) && !ConnectionQuota.Share.client(client).contains(.v4(0xC0A8_0102)))
        #expect(ConnectionQuota.Share.thisMachine.contains(loopback) && !prefix.contains(loopback))
        #expect(ConnectionQuota.Share.elsewhere.contains(client) && !ConnectionQuota.Share.elsewhere.contains(loopback))
    }

    @Test("counts come back to nothing", arguments: [1, 2] as [UInt64])
    func balance(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (quota, open) = (ConnectionQuota(), [Address]())
        for _ in 0..<20_000 {
            if Bool.random(using: &random), !open.isEmpty {
                quota.release(open.remove(at: Int.random(in: 0..<open.count, using: &random)))
            } else {
                let client = Address.v4(
                    (Bool.random(using: &random) ? 0x7F00_0000 : 0x0A00_0000)
                        + UInt32.random(in: 0..<4, using: &random) << 8 + UInt32.random(in: 0..<4, using: &random))
                if admitted(&quota, [client]) == 1 { open.append(client) }
            }
            #expect(quota.count == open.count, "seed \(seed)")
        }
        for client in open { quota.release(client) }
        #expect(quota.count == 0)
        #expect(admitted(&quota, Array(repeating: .v4(0x0A00_0001), count: 200)) == 128)
    }

    @Test("connections are shared out within a lower limit, too")
    func quota() {
        var quota = ConnectionQuota(limit: 64)
        let client = Address.v4(0xC0A8_0101)
        for _ in 0..<16 where quota.fullShare(for: client) == nil { quota.admit(client) }
        #expect(quota.fullShare(for: client) == .client(client) && quota.count == 16)
        while quota.fullShare(for: ServingStand.loopback) == nil { quota.admit(ServingStand.loopback) }
        #expect(quota.count == 64)
    }
}
