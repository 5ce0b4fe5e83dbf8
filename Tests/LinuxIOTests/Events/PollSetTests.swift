// Waiting for a few descriptors.

import DNSWire
import LinuxIO
import Testing

struct PollSetTests {
    @Test func `only what can be read is ready, until it has been read`() throws {
        let boxes = [try Mailbox<Int>(capacity: 2), try Mailbox<Int>(capacity: 2)]
        defer { withExtendedLifetime(boxes) {} }
        var waits = PollSet(boxes.map(\.descriptor))
        _ = boxes[1].post(1)
        try waits.wait()
        var ready = [waits.isReady(0), waits.isReady(1)]
        #expect(ready == [false, true])
        _ = boxes[1].takeAll()
        _ = boxes[0].post(1)
        try waits.wait()
        ready = [waits.isReady(0), waits.isReady(1)]
        #expect(ready == [true, false])
    }

    @Test func `an error that waits on a socket ends the wait`() throws {
        let loopback = try #require(SocketAddress("127.0.0.1:0"))
        let target: SocketAddress
        do {
            let closed = try DatagramSocket(serving: loopback)
            target = try closed.localAddress()
        }
        let socket = try DatagramSocket(connectedTo: target)
        #expect(try socket.send([1].span) == .sent)
        var waits = PollSet([socket.descriptor.raw])
        try waits.wait()
        let isReady = waits.isReady(0)
        #expect(isReady)
        #expect(try socket.receive(maxBytes: 1) == .refused)
    }
}
