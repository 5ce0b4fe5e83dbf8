// The lifetime of a TCP connection, on the test's own clock.

import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import Serving

struct StreamConnectionTests {
    private let client: StreamSocket
    private let connection: StreamConnection
    private let loop: EventLoop
    private let socket: StreamSocket
    private let start = Clock.now()

    init() throws {
        let listener = try Listener(on: try #require(SocketAddress("127.0.0.1:0")))
        client = try StreamSocket(connectingTo: listener.localAddress())
        loop = try EventLoop()
        var accepted: StreamSocket?
        while accepted == nil { accepted = try listener.accept()?.socket }
        socket = try #require(accepted)
        let registration = try loop.watch(socket.descriptor.raw, for: .readable) { _ in }
        connection = StreamConnection(socket, ServingStand.loopback, .tcp, registration, now: start)
    }

    /// Sends a question and returns it as the connection has received it.
    private func ask(at now: Instant) throws -> [UInt8] {
        let packet = QueryPacket(try #require(Name("a.example")), .a).bytes
        _ = try client.write(StreamFraming.frame(packet).span)
        var room = [UInt8](repeating: 0, count: 4096)
        while true {
            connection.becameReadable()
            if let message = connection.nextQuestion(now: now, &room) { return message }
        }
    }

    @Test("a client that asks now and then keeps the connection, until it is ten minutes old")
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

    @Test func `at the end it reads the rest of a message that has begun, and nothing after it`() throws {
        let frame = StreamFraming.frame(QueryPacket(try #require(Name("a.example")), .a).bytes)
        var room = [UInt8](repeating: 0, count: 4096)
        // The length field is cut, too.
        for taken in [1, 2, 9] {
            let other = StreamConnection(socket, ServingStand.loopback, .tcp, connection.registration, now: start)
            _ = try client.write(frame.span.extracting(..<taken))
            try waitUntilReadable()
            #expect(other.nextQuestion(now: start, &room) == nil && !other.isBetweenMessages)
            other.finish()
            _ = try client.write((Array(frame[taken...]) + frame).span)
            let question = nextQuestion(of: other)
            #expect(question == Array(frame[2...]) && !other.isBetweenMessages)
            other.becameReadable()
            #expect(other.nextQuestion(now: start, &room) == nil)
            other.answered(with: [1], now: start)
            #expect(!other.isBetweenMessages)
            other.write(now: start)
            #expect(other.isBetweenMessages && !other.isOver)
            // The next process reads the second message.
            #expect(nextQuestion(of: connection) == Array(frame[2...]))
            connection.answered(with: [], now: start)
        }
    }

    private func nextQuestion(of connection: StreamConnection) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: 4096)
        while true {
            connection.becameReadable()
            if let message = connection.nextQuestion(now: start, &room) { return message }
        }
    }

    private func waitUntilReadable() throws {
        var isReadable = false
        let other = try EventLoop()
        _ = try other.watch(socket.descriptor.raw, for: .readable) { _ in isReadable = true }
        while !isReadable { try other.turn(until: nil) }
    }

    @Test func `after a read of all that had arrived, the next one waits until the loop reports more`() throws {
        _ = try ask(at: start)
        _ = try client.write(StreamFraming.frame(QueryPacket(try #require(Name("b.example")), .a).bytes).span)
        var room = [UInt8](repeating: 0, count: 4096)
        try waitUntilReadable()
        #expect(connection.nextQuestion(now: start, &room) == nil)
        connection.becameReadable()
        #expect(connection.nextQuestion(now: start, &room) != nil)
    }

    @Test("what is in flight when it is old enough is answered before it ends")
    func inFlight() throws {
        let now = start + .seconds(595)
        let message = try ask(at: now)
        #expect(connection.retires(now: start + StreamConnection.maxAge) && !connection.isOver)
        // The end is reported once, and the connection reads no further question.
        #expect(!connection.retires(now: start + StreamConnection.maxAge))
        #expect(!connection.interest.contains(.readable))
        #expect(connection.deadline == start + .seconds(605))
        connection.answered(with: message, now: start + .seconds(601))
        #expect(!connection.isOver)
        connection.write(now: start + .seconds(601))
        #expect(connection.isOver)
    }

    /// Answers until the kernel's socket buffer is full.
    private func fill(now: Instant) throws {
        let message = [UInt8](repeating: 7, count: 60_000)
        while connection.unsentBytes < 3 * message.count {
            _ = try ask(at: now)
            connection.answered(with: message, now: now)
            connection.write(now: now)
        }
    }

    /// Reads everything while the connection writes. The kernel passes data with a delay.
    private func takeAll(now: Instant) throws {
        while connection.unsentBytes > 0 {
            while case .bytes = try client.read(maxBytes: 1 << 20) {}
            connection.write(now: now)
        }
    }

    @Test("a client that takes a little now and then does not get more time by it")
    func slowReader() throws {
        try fill(now: start)
        connection.wrote(StreamConnection.minBytesPerPeriod, now: start)
        let end = connection.deadline
        #expect(end == start + StreamConnection.transferTimeout)
        connection.wrote(StreamConnection.minBytesPerPeriod - 1, now: start + .seconds(4))
        #expect(connection.deadline == end)
        connection.wrote(1, now: start + .seconds(4))
        #expect(connection.deadline == end + .seconds(4))
    }

    @Test("a client that takes enough has as long as that lasts, but never more than the hard limit")
    func steadyReader() throws {
        var now = start
        let hardEnd = start + StreamConnection.maxAge + StreamConnection.closingTimeout
        while now < start + StreamConnection.maxAge {
            try fill(now: now)
            #expect(connection.deadline > now)
            try takeAll(now: now)
            now += .seconds(4)
        }
        try fill(now: start + .seconds(599))
        #expect(connection.retires(now: start + StreamConnection.maxAge))
        for second in 600...609 {
            connection.wrote(1 << 20, now: start + .seconds(second))
            #expect(connection.deadline <= hardEnd)
        }
    }

    @Test("the first to go is one whose peer has closed, then the one that has been idle for the longest time")
    func evictionOrder() throws {
        let later = start + .seconds(2)
        #expect(connection.evictionOrder(now: start).rank == .fresh)
        #expect(connection.evictionOrder(now: later) == .init(rank: .idle, since: start))
        _ = try ask(at: start)
        #expect(connection.evictionOrder(now: later).rank == .inUse)
        connection.peerClosed()
        #expect(connection.evictionOrder(now: later).rank == .peerClosed)
        #expect(!connection.isOver && !connection.interest.contains(.peerClosed))
        let ranks: [StreamConnection.EvictionOrder] = [
            .init(rank: .peerClosed, since: later), .init(rank: .idle, since: start), .init(rank: .idle, since: later),
            .init(rank: .fresh, since: start), .init(rank: .inUse, since: start),
        ]
        #expect(ranks.shuffled().sorted() == ranks)
    }
}
