// A connection to a real Redis: commands, scripts, channels, and the ends of the connection.

import DNSWire
import Glibc
import LinuxIO
import Testing

@testable import Redis

@Suite struct RedisConnectionTests {
    private let loop: EventLoop
    private let server = RedisServer()

    init() throws { loop = try EventLoop() }

    /// Collects all news of a connection.
    private final class Heard {
        var news: [RedisConnection.News] = []
    }

    private func connect(_ heard: Heard, isSubscriber: Bool = false) throws -> RedisConnection {
        let end = Clock.now() + .seconds(20)
        while true {
            do throws(SystemError) {
                return try RedisConnection(to: .local(server.path), isSubscriber: isSubscriber, loop) {
                    heard.news.append($1)
                }
            } catch {
                // The server has just been started.
                guard Clock.now() < end else { throw error }
                usleep(10_000)
            }
        }
    }

    private func turn(until isDone: () -> Bool) throws {
        let end = Clock.now() + .seconds(20)
        while !isDone(), Clock.now() < end { try loop.turn(until: Clock.now() + .milliseconds(20)) }
        #expect(isDone())
    }

    private func replies(to commands: RedisCommand...) throws -> [RedisReply] {
        let heard = Heard()
        let connection = try connect(heard)
        defer { connection.close() }
        for command in commands { #expect(connection.send(command)) }
        try turn { heard.news.count >= commands.count }
        return heard.news.compactMap { if case .reply(let reply) = $0 { reply } else { nil } }
    }

    @Test func repliesOfEveryKindComeInOrder() throws {
        let binary: [UInt8] = [0, 13, 10, 255]
        let replies = try replies(
            to: RedisCommand("PING"), RedisCommand([Array("SET".utf8), Array("k".utf8), binary]),
            RedisCommand("GET", "k"), RedisCommand("GET", "none"), RedisCommand("STRLEN", "k"),
            RedisCommand("EVAL", "return {1, 'a', {2, false}}", "0"), RedisCommand("NONSENSE"))
        #expect(
            replies.prefix(6) == [
                .status("PONG"), .status("OK"), .string(binary), .nothing, .integer(4),
                .array([.integer(1), .string([97]), .array([.integer(2), .nothing])]),
            ])
        guard case .error(let text) = replies.last else {
            Issue.record("\(replies)")
            return
        }
        #expect(text.hasPrefix("ERR unknown command"))
    }

    @Test func countsAreWrittenInFull() throws {
        let lengths = [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65_535, 1_000_000]
        for length in lengths {
            let value = [UInt8](repeating: 7, count: length)
            #expect(try replies(to: RedisCommand([Array("ECHO".utf8), value])) == [.string(value)], "\(length) bytes")
        }
        let many = ["DEL"] + (0..<1234).map { "k\($0)" }
        #expect(try replies(to: RedisCommand(many.map { Array($0.utf8) })) == [.integer(0)])
    }

    @Test func aSubscriberGetsMessages() throws {
        let heard = Heard()
        let subscriber = try connect(heard, isSubscriber: true)
        defer { subscriber.close() }
        #expect(subscriber.send(RedisCommand("SUBSCRIBE", "h1:c")))
        try turn { heard.news.count == 1 }
        #expect(try replies(to: RedisCommand("PUBLISH", "h1:c", "text")) == [.integer(1)])
        try turn { heard.news.count == 2 }
        #expect(heard.news.last == .message(channel: "h1:c", Array("text".utf8)))
    }

    @Test func itEndsWithItsServer() throws {
        let heard = Heard()
        let connection = try connect(heard)
        #expect(connection.send(RedisCommand("PING")))
        try turn { heard.news.count == 1 }
        server.signal(SIGKILL)
        try turn { heard.news.count == 2 }
        guard case .ended = heard.news.last else {
            Issue.record("\(heard.news)")
            return
        }
    }

    @Test func bytesThatAreNoRESPAreRefused() throws {
        for text in [
            "HTTP/1.1 400 Bad Request\r\n", "*2147483647\r\n", "*4097\r\n", "*1\r\n*4097\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "$x\r\n",
        ] {
            let reader = try #require(ReplyReader())
            #expect(throws: ReplyReader.Failure.self, "\(text)") { try reader.take(Array(text.utf8)) }
        }
        let reader = try #require(ReplyReader())
        let endless = [UInt8](repeating: 97, count: 1 << 18)
        _ = try reader.take(Array("$100000000\r\n".utf8))
        #expect(throws: ReplyReader.Failure.self) { for _ in 0..<10 { _ = try reader.take(endless) } }
    }

    @Test func repliesInPiecesAreOne() throws {
        let reader = try #require(ReplyReader())
        let bytes = Array("*2\r\n$5\r\nhello\r\n:7\r\n+OK\r\n".utf8)
        var replies: [RedisReply] = []
        for byte in bytes { replies += try reader.take([byte]) }
        #expect(replies == [.array([.string(Array("hello".utf8)), .integer(7)]), .status("OK")])
    }
}
