// The connection that the server closes when there are too many, or when one takes too long.

import DNSWire
import TestSupport
import Testing

@testable import HTTPServer

@Suite("Places of connections")
struct ConnectionPlacesTests {
    private let start = Instant.testStart

    private func client(_ number: UInt32) -> PageClient {
        PageClient(.v4(0x0A00_0000 + number), userID: nil, isTrusted: false)
    }

    private func user(_ userID: UInt32) -> PageClient {
        PageClient(.v4(0x7F00_0001), userID: userID, isTrusted: userID == 0)
    }

    @Test("the oldest makes room for one too many")
    func total() {
        var places = ConnectionPlaces()
        for number in 0..<32 {
            #expect(places.take(Int32(number), from: client(UInt32(number)), now: start) == .free)
        }
        #expect(places.take(100, from: client(100), now: start) == .closing(0))
        #expect(places.take(101, from: client(101), now: start) == .closing(1))
    }

    @Test("a client with many connections makes room for itself, and not for others")
    func perHolder() {
        var places = ConnectionPlaces()
        #expect(places.take(0, from: client(1), now: start) == .free)
        for number in 1...16 { #expect(places.take(Int32(number), from: client(2), now: start) == .free) }
        #expect(places.take(17, from: client(2), now: start) == .closing(1))
        #expect(places.take(18, from: client(3), now: start) == .free)
    }

    @Test("no number of users and addresses displaces root, and the one with most connections makes room")
    func users() {
        var places = ConnectionPlaces()
        #expect(places.take(0, from: user(0), now: start) == .free)
        #expect(places.take(1, from: user(1000), now: start) == .free)
        for number in 2...17 { #expect(places.take(Int32(number), from: user(1001), now: start) == .free) }
        for number in 18...31 { #expect(places.take(Int32(number), from: client(7), now: start) == .free) }
        #expect(places.take(32, from: client(8), now: start) == .closing(2))
        #expect(places.take(33, from: user(0), now: start) == .closing(3))
        for number in 34..<200 {
            let admission = places.take(Int32(number), from: client(UInt32(number)), now: start)
            #expect(![.closing(0), .closing(33), .refused].contains(admission))
        }
        for number in 200..<213 { _ = places.take(Int32(number), from: user(0), now: start) }
        #expect(places.take(300, from: user(1001), now: start) != .closing(0))
    }

    @Test("without a place that it may take, a newcomer is refused")
    func refused() {
        var places = ConnectionPlaces()
        for number in 0..<32 {
            let root = PageClient(.v4(0x7F00_0001), userID: UInt32(number), isTrusted: true)
            #expect(places.take(Int32(number), from: root, now: start) == .free)
        }
        #expect(places.take(32, from: client(1), now: start) == .refused)
        places.closed(31)
        #expect(places.take(33, from: client(1), now: start) == .free)
    }

    @Test("one that was closed has left its place")
    func closed() {
        var places = ConnectionPlaces()
        for number in 0..<32 { _ = places.take(Int32(number), from: client(UInt32(number)), now: start) }
        places.closed(0)
        #expect(places.take(40, from: client(40), now: start) == .free)
        #expect(places.take(41, from: client(41), now: start) == .closing(1))
    }

    @Test("ten seconds are enough for everyone")
    func overdue() {
        var places = ConnectionPlaces()
        _ = places.take(1, from: client(1), now: start)
        _ = places.take(2, from: client(1), now: start + .seconds(1))
        #expect(places.nextDeadline == start + .seconds(10))
        #expect(places.overdue(now: start + .milliseconds(9999)).isEmpty)
        #expect(places.overdue(now: start + .seconds(10)) == [1])
        #expect(places.nextDeadline == start + .seconds(11))
        #expect(places.overdue(now: start + .seconds(60)) == [2])
        #expect(places.nextDeadline == nil)
    }
}
