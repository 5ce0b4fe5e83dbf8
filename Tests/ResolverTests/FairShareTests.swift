// How places are shared among domains and clients, and against a model that sorts all entries each time.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Fair share")
struct FairShareTests {
    private var share = FairShare(capacity: 16)
    private var next = 0

    private func holder(_ name: String, _ client: UInt32? = nil) throws -> ShareHolder {
        ShareHolder(try #require(Name(name)), client.map { ClientID(.v4($0)) })
    }

    /// Adds an entry as an owner would; the one that had to leave.
    @discardableResult
    private mutating func take(_ name: String, _ client: UInt32? = nil) throws -> [Int] {
        let holder = try holder(name, client)
        var left: [Int] = []
        while let id = share.displaced(by: holder) {
            share.remove(id)
            left.append(id)
        }
        share.add(next, for: holder)
        next += 1
        return left
    }

    @Test("a domain holds an eighth at most, and loses its own oldest entry")
    mutating func domainLimit() throws {
        #expect(try take("other.example").isEmpty)
        #expect(try take("a.slow.example").isEmpty)
        #expect(try take("b.slow.example").isEmpty)
        #expect(try take("c.d.slow.example") == [1])
        #expect(try take("slow.example") == [2])
        #expect(share.count == 3)
    }

    @Test("names below different registrable domains of a public suffix are counted apart")
    mutating func publicSuffix() throws {
        for name in ["a.co.uk", "b.co.uk", "c.co.uk", "www.c.co.uk"] { #expect(try take(name).isEmpty) }
        #expect(try take("ftp.c.co.uk") == [2])
    }

    @Test("a client holds an eighth at most, whatever it asks for")
    mutating func clientLimit() throws {
        #expect(try take("other.example", 1 << 24).isEmpty)
        for number in 0..<2 { #expect(try take("n\(number).example", 2 << 24).isEmpty) }
        #expect(try take("n2.example", 2 << 24) == [1])
        #expect(try take("n2.example", 3 << 24).isEmpty)
    }

    @Test("loopback holds half of the places")
    mutating func loopback() throws {
        for number in 0..<8 { #expect(try take("n\(number).example", 127 << 24 | 1).isEmpty) }
        #expect(try take("n8.example", 127 << 24 | 1) == [0])
        #expect(try take("n9.example", 127 << 24 | 2).isEmpty)
    }

    @Test("when all places are taken, the one that holds the most loses its oldest")
    mutating func full() throws {
        for number in 0..<14 { #expect(try take("n\(number).example", UInt32(number) << 24 | 1).isEmpty) }
        for _ in 0..<2 { #expect(try take("many.example", 100 << 24).isEmpty) }
        #expect(share.count == 16)
        #expect(try take("new.example", 101 << 24) == [14])
        #expect(try take("newer.example", 102 << 24) == [0])
    }

    @Test("one /64 is one client, and an IPv4 address stays itself on an IPv6 socket")
    func clients() throws {
        let high: UInt64 = 0x2001_0db8_0000_0001
        #expect(ClientID(.v6(high: high, low: 1)) == ClientID(.v6(high: high, low: 2)))
        #expect(ClientID(.v6(high: high, low: 1)) != ClientID(.v6(high: high + 1, low: 1)))
        #expect(ClientID(.v6(high: 0, low: 0xffff_c000_0201)) == ClientID(.v4(0xc000_0201)))
        #expect(ClientID(.v6(high: 0, low: 1)).isLoopback && !ClientID(.v4(0xc000_0201)).isLoopback)
    }

    @Test("it agrees with a model over 20,000 random steps, and no bound is ever passed")
    mutating func model() throws {
        var random = SeededRandom(seed: 7)
        var model: [(id: Int, holder: ShareHolder)] = []
        for step in 0..<20_000 {
            if !model.isEmpty, Int.random(in: 0..<3, using: &random) == 0 {
                let gone = model.remove(at: Int.random(in: 0..<model.count, using: &random))
                share.remove(gone.id)
                continue
            }
            let holder = try holder(
                "n.d\(Int.random(in: 0..<12, using: &random)).example", UInt32.random(in: 1...14, using: &random) << 24)
            var left = 0
            while let id = share.displaced(by: holder) {
                let ofDomain = model.filter { $0.holder.domain == holder.domain }
                let ofClient = model.filter { $0.holder.client == holder.client }
                let expected = ofDomain.count >= 2 ? ofDomain.first : ofClient.count >= 2 ? ofClient.first : nil
                if let expected { #expect(id == expected.id) } else { #expect(model.count == 16) }
                model.removeAll { $0.id == id }
                share.remove(id)
                left += 1
            }
            #expect(left <= 3)
            share.add(step, for: holder)
            model.append((step, holder))
            #expect(share.count == model.count && model.count <= 16)
        }
    }
}
