// Which sockets of the former process serve the settings' addresses.

import DNSWire
import Testing

@testable import Daemon

@Suite("Sockets of the former process")
struct SocketReuseTests {
    private func addresses(_ texts: String...) throws -> [SocketAddress] {
        try texts.map { try #require(SocketAddress($0)) }
    }

    @Test func `each address gets its listener and all of its UDP sockets, in any order`() throws {
        let reuse = SocketReuse(
            try addresses("127.0.0.1:53", "[::1]:53"),
            listeners: try addresses("[::1]:53", "127.0.0.1:53"),
            datagrams: try addresses("127.0.0.1:53", "[::1]:53", "[::1]:53", "127.0.0.1:53"))
        #expect(
            reuse.places == [.init(listener: 1, datagrams: [0, 3]), .init(listener: 0, datagrams: [1, 2])])
        #expect(reuse.reused == (try addresses("127.0.0.1:53", "[::1]:53")))
        #expect(reuse.unused.isEmpty)
    }

    @Test func `an address without kept sockets is bound anew, and one that the settings lack is not used`() throws {
        let reuse = SocketReuse(
            try addresses("127.0.0.2:53", "127.0.0.1:53"), listeners: try addresses("127.0.0.1:53", "127.0.0.1:54"),
            datagrams: try addresses("127.0.0.1:54", "127.0.0.1:54"))
        #expect(reuse.places == [.init(), .init(listener: 0)])
        #expect(reuse.unused == (try addresses("127.0.0.1:54")))
    }

    @Test func `another port, another family and any free port are other addresses`() throws {
        let kept = try addresses("127.0.0.1:54", "0.0.0.0:53", "[::ffff:127.0.0.1]:53", "127.0.0.1:1053")
        let reuse = SocketReuse(try addresses("127.0.0.1:53", "127.0.0.1:0"), listeners: kept, datagrams: [])
        #expect(reuse.places == [.init(), .init()] && reuse.unused == kept && reuse.reused.isEmpty)
    }

    @Test func `if the settings name no address, all are unused`() throws {
        let kept = try addresses("127.0.0.1:53")
        #expect(SocketReuse([], listeners: kept, datagrams: kept + kept).unused == kept)
    }
}
