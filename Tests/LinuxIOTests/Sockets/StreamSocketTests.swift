// TCP over loopback.

import DNSWire
import Glibc
import Testing

@testable import LinuxIO

struct StreamSocketTests {
    @Test("a connection is made, used and ended", arguments: ["127.0.0.1:0", "[::1]:0"])
    func connection(text: String) throws {
        let listener = try Listener(on: #require(SocketAddress(text)))
        #expect(try listener.accept() == nil)
        var client: StreamSocket? = try StreamSocket(connectingTo: listener.localAddress())
        let accepted = try accept(from: listener)
        try #require(becomesReady(#require(client).descriptor.raw, for: POLLOUT))
        #expect(try client?.connectOutcome() == .connected)
        #expect(try client?.localAddress() == accepted.peer)
        // By the listener's option, which is inherited.
        #expect(try accepted.socket.descriptor.option(Int32(IPPROTO_TCP), TCP_NODELAY) == 1)
        #expect(try accepted.socket.read(maxBytes: 10) == .wouldBlock)
        #expect(try client?.write([1, 2, 3].span) == 3)
        try #require(becomesReady(accepted.socket.descriptor.raw))
        #expect(try accepted.socket.read(maxBytes: 2) == .bytes([1, 2]))
        #expect(try accepted.socket.read(maxBytes: 2) == .bytes([3]))
        client = nil
        try #require(becomesReady(accepted.socket.descriptor.raw))
        #expect(try accepted.socket.read(maxBytes: 2) == .ended)
    }

    @Test func `what the kernel does not take is told, and nothing is lost`() throws {
        let (client, server) = try connectedPair()
        let block = [UInt8](0...255) + [UInt8](repeating: 9, count: 99_744)
        var written = 0
        var sawPartialWrite = false
        while let count = try client.write(block.span) {
            written += count
            if count < block.count { sawPartialWrite = true }
        }
        #expect(sawPartialWrite)
        var read: [UInt8] = []
        while read.count < written {
            try #require(becomesReady(server.descriptor.raw))
            if case .bytes(let bytes) = try server.read(maxBytes: 1 << 20) { read += bytes }
        }
        #expect(read.count == written)
        #expect(read.prefix(block.count).elementsEqual(block))
        try #require(becomesReady(client.descriptor.raw, for: POLLOUT))
        #expect(try client.write([1].span) == 1)
    }

    @Test func `what the kernel takes is removed from the front`() throws {
        let (client, server) = try connectedPair()
        let bytes = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 >> 4) }
        var (unsent, read): ([UInt8], [UInt8]) = (bytes, [])
        while read.count < bytes.count {
            let before = unsent.count
            let count = unsent.isEmpty ? nil : try client.write(from: &unsent)
            #expect(unsent.count == before - (count ?? 0))
            if case .bytes(let some) = try server.read(maxBytes: 1 << 16) { read += some }
        }
        #expect(unsent.isEmpty)
        #expect(read == bytes)
    }

    @Test func `a read over a buffer takes no more than its bound`() throws {
        let (client, server) = try connectedPair()
        _ = try client.write([1, 2, 3].span)
        try #require(becomesReady(server.descriptor.raw))
        var room: [UInt8] = [0, 0, 0, 0]
        #expect(try server.read(over: &room, maxBytes: 2) == 2)
        #expect(room == [1, 2, 0, 0])
        #expect(try server.read(over: &room) == 1)
        #expect(room == [3, 2, 0, 0])
    }

    @Test func `a write to a closed connection is an error and no signal`() throws {
        var (client, server): (StreamSocket, StreamSocket?) = try connectedPair()
        _ = try client.write([1].span)
        try #require(becomesReady(#require(server).descriptor.raw))
        server = nil
        // Closed with unread bytes in it, the server's side resets the connection.
        try #require(becomesReady(client.descriptor.raw))
        #expect(throws: SystemError(call: "recv", code: ECONNRESET)) { try client.read(maxBytes: 1) }
        #expect(throws: SystemError(call: "send", code: EPIPE)) { try client.write([1].span) }
    }

    @Test func `a refused connection is told by its outcome or at once`() throws {
        let gone = try Listener(on: #require(SocketAddress("127.9.9.9:0"))).localAddress()
        let refused = SystemError(call: "connect", code: ECONNREFUSED)
        do {
            let client = try StreamSocket(connectingTo: gone)
            try #require(becomesReady(client.descriptor.raw, for: POLLOUT))
            #expect(try client.connectOutcome() == .failed(refused))
        } catch let error as SystemError {
            #expect(error == refused)
        }
    }

    @Test func `a second listener on the same address is refused`() throws {
        let first = try Listener(on: #require(SocketAddress("127.0.0.1:0")))
        let address = try first.localAddress()
        #expect(throws: SystemError(call: "bind", code: EADDRINUSE)) { try Listener(on: address) }
    }

    @Test func `an IPv6 wildcard leaves IPv4 free`() throws {
        let wide = try Listener(on: #require(SocketAddress("[::]:0")))
        let port = try wide.localAddress().port
        #expect(try Listener(on: #require(SocketAddress("127.0.0.1:\(port)"))).localAddress().port == port)
    }

    private func connectedPair() throws -> (StreamSocket, StreamSocket) {
        let listener = try Listener(on: #require(SocketAddress("127.0.0.1:0")))
        let client = try StreamSocket(connectingTo: listener.localAddress())
        return (client, try accept(from: listener).socket)
    }

    private func accept(from listener: Listener) throws -> (socket: StreamSocket, peer: SocketAddress) {
        try #require(becomesReady(listener.descriptor.raw))
        return try #require(try listener.accept())
    }
}
