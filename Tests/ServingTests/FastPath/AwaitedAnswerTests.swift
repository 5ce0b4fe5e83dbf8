// An awaited answer from the cache: the serving thread or the stream server that sends it tells the main thread, once.

import DNSWire
import LinuxIO
import Telemetry
import TestSupport
import Testing

@testable import Serving

@Suite("Awaited answers")
struct AwaitedAnswerTests {
    private static let partition = Partition(rawValue: 1)
    private static let anyPort = SocketAddress(.loopback4, port: 0)
    private let cache = AnswerCache(limitBytes: 1 << 20, seed: (1, 2))
    private let question: Question
    private let packet: [UInt8]

    init() throws {
        question = Question(try #require(Name("www.example.com")), .a)
        packet = QueryPacket(question.name, question.type).bytes
        let record = ResourceRecord(owner: question.name, address: .v4(0xC000_0201), ttlSeconds: 600)
        cache.store(
            RenderedAnswer(Answer(records: [record]), to: question), lifetimeSeconds: 600, for: question,
            partition: Self.partition, sourceClass: .provider, nowMilliseconds: Clock.millisecondsSinceBoot(Clock.now())
        )
        cache.awaitHit(question, partition: Self.partition, sourceClass: .provider)
    }

    private static func path(_ cache: AnswerCache) -> FastPath {
        FastPath(
            cache: cache, access: AccessList(Prefix.everywhere), serving: ServingState(partition, seed: 1),
            version: ServingStand.version)
    }

    private static func servedAgain(_ notices: [Notice]) -> [Question] {
        notices.compactMap { if case .servedAgain(let question) = $0 { question } else { nil } }
    }

    @Test("a serving thread posts it, and counts a hit like any other")
    func datagrams() throws {
        let socket = try DatagramSocket(serving: Self.anyPort)
        let mailbox = try Mailbox<Notice>(capacity: 16)
        let cache = cache
        let records = FlightRecords(servingThreads: 1)
        let threads = ServingThreads([[socket]], records: records, mailbox: mailbox) { Self.path(cache) }
        try threads.start()
        let client = try DatagramSocket(connectedTo: try socket.localAddress())
        var waits = PollSet([client.descriptor.raw])
        // The notice about a batch reaches the main thread before the next batch is answered.
        for _ in 0..<3 {
            _ = try client.send(packet.span)
            try waits.wait()
            _ = try client.receive(maxBytes: EDNS.ourPayloadBytes)
        }
        threads.stop()
        #expect(Self.servedAgain(mailbox.takeAll()) == [question])
        let tally = threads.tally
        #expect(tally[.cacheHits] == 3 && tally[.cacheResponses] == 3 && tally[.noError] == 3)
        #expect(tally[.handedOver] == 0, "it is no question that waits for an answer")
        #expect(threads.hitDurations.countsByOctave.reduce(0, +) == 3)
        let events = records.latest(9, about: question.name)
        #expect(events.count == 3)
        for event in events {
            #expect(event.kind == .answered && event.source == .cache && event.type == .a && event.transport == .udp)
            #expect(event.address == .v4(0x7F00_0001) && event.microseconds > 0)
        }
    }

    @Test("the stream server keeps it until it is taken")
    func streams() throws {
        let loop = try EventLoop()
        let listener = try Listener(on: Self.anyPort)
        let server = StreamServer(
            listeners: [StreamListener(listener)], loop: loop, access: AccessList(Prefix.everywhere),
            fastPath: Self.path(cache), ring: FlightRecords(servingThreads: 0).ofMainThread, maxConnections: 16)
        try server.start()
        let client = try StreamSocket(connectingTo: try listener.localAddress())
        let framed = [UInt8(packet.count >> 8), UInt8(packet.count & 0xFF)] + packet
        let twice = framed + framed
        #expect(try client.write(twice.span) == twice.count)
        let end = Clock.now() + .seconds(10)
        while server.tally.queries(over: .tcp) < 2, Clock.now() < end { try loop.turn(until: end) }
        #expect(server.nextDeadline == .atOnce)
        #expect(Self.servedAgain(server.takeNotices()) == [question])
        #expect(server.nextDeadline != .atOnce && server.takeNotices().isEmpty)
        #expect(server.tally[.cacheHits] == 2)
    }
}
