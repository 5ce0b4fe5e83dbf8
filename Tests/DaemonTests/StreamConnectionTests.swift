// How long one TCP connection lives, on a clock of the test's own.

import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import Daemon

struct StreamConnectionTests {
    private let client: StreamSocket
    private let connection: StreamConnection
    private let loop: EventLoop
    private let start = Clock.now()

    init() throws {
        let listener = try Listener(on: try #require(SocketAddress("127.0.0.1:0")))
        client = try StreamSocket(connectingTo: listener.localAddress())
        loop = try EventLoop()
        var accepted: StreamSocket?
        while accepted == nil { accepted = try listener.accept()?.socket }
        let socket = try #require(accepted)
        let registration = try loop.watch(socket.descriptor.raw, for: .readable) { _ in }
        connection = StreamConnection(socket, ServingStand.loopback, registration, now: start)
    }

    /// A question that the connection has taken in.
    private func ask(at now: Instant) throws -> [UInt8] {
        let packet = QueryPacket(try #require(Name("a.example")), .a).bytes
        _ = try client.write(StreamFraming.frame(packet).span)
        while true {
            if let message = connection.nextQuestion(now: now) { return message }
        }
    }

    @Test("who asks now and then keeps the connection, until it is ten minutes old")
    func age() throws {
        var now = start
        while now < start + .seconds(590) {
            now += .seconds(9)
            #expect(connection.deadline > now && !connection.retires(now: now))
            connection.answered(with: try ask(at: now), now: now)
            connection.write(now: now)
        }
        #expect(connection.deadline == start + StreamConnection.maxAge)
        #expect(connection.retires(now: start + StreamConnection.maxAge) && connection.isOver)
    }

    @Test("what is in flight when it is old enough is answered before it ends")
    func inFlight() throws {
        let now = start + .seconds(595)
        let message = try ask(at: now)
        #expect(connection.retires(now: start + StreamConnection.maxAge) && !connection.isOver)
        // Said once; and no further question is taken.
        #expect(!connection.retires(now: start + StreamConnection.maxAge))
        #expect(!connection.interest.contains(.readable))
        #expect(connection.deadline == now + StreamConnection.idleTimeout)
        connection.answered(with: message, now: start + .seconds(601))
        #expect(!connection.isOver)
        connection.write(now: start + .seconds(601))
        #expect(connection.isOver)
    }
}
