// Who has to go when there are too many connections, or when one takes too long.

import DNSWire
import TestSupport
import Testing

@testable import HTTPServer

@Suite("Places of connections")
struct ConnectionPlacesTests {
    private let start = Instant.testStart

    @Test("the oldest makes room for one too many")
    func total() {
        var places = ConnectionPlaces()
        for number in 0..<32 {
            #expect(places.take(Int32(number), from: .v4(0x0A00_0000 + UInt32(number)), now: start) == nil)
        }
        #expect(places.take(100, from: .v4(0x0A00_0064), now: start) == 0)
        #expect(places.take(101, from: .v4(0x0A00_0065), now: start) == 1)
    }

    @Test("who has many connections makes room for itself, and not for others")
    func perAddress() {
        var places = ConnectionPlaces()
        #expect(places.take(0, from: .v4(0x0A00_0001), now: start) == nil)
        for number in 1...16 { #expect(places.take(Int32(number), from: .v4(0x0A00_0002), now: start) == nil) }
        #expect(places.take(17, from: .v4(0x0A00_0002), now: start) == 1)
        #expect(places.take(18, from: .v4(0x0A00_0003), now: start) == nil)
    }

    @Test("one that was closed has left its place")
    func closed() {
        var places = ConnectionPlaces()
        for number in 0..<32 { _ = places.take(Int32(number), from: .v4(UInt32(number)), now: start) }
        places.closed(0)
        #expect(places.take(40, from: .v4(40), now: start) == nil)
        #expect(places.take(41, from: .v4(41), now: start) == 1)
    }

    @Test("ten seconds are enough for everyone")
    func overdue() {
        var places = ConnectionPlaces()
        _ = places.take(1, from: .v4(1), now: start)
        _ = places.take(2, from: .v4(1), now: start + .seconds(1))
        #expect(places.nextDeadline == start + .seconds(10))
        #expect(places.overdue(now: start + .milliseconds(9999)).isEmpty)
        #expect(places.overdue(now: start + .seconds(10)) == [1])
        #expect(places.nextDeadline == start + .seconds(11))
        #expect(places.overdue(now: start + .seconds(60)) == [2])
        #expect(places.nextDeadline == nil)
    }
}
