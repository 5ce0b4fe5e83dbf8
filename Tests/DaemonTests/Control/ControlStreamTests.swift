// Answers in steps: each step arrives at once, the stream detects a client that disconnects or stops reading, and
// buffers no more of an answer than allowed.

import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import Daemon

struct ControlStreamTests {
    private let folder = TemporaryFolder()
    private let loop: EventLoop

    init() throws {
        loop = try EventLoop()
    }

    private func client(_ line: String = "providers test a\n") throws -> LocalClient {
        try LocalClient(line, to: folder("control.sock"))
    }

    private func server(_ answer: @escaping ControlServer.Answer) throws -> ControlServer {
        try ControlServer(path: folder("control.sock"), loop: loop, isTrusted: { _ in true }, answer: answer)
    }

    /// Runs the loop and the server until the condition holds.
    private func turn(_ server: ControlServer, until isSo: () -> Bool) throws {
        let deadline = Clock.now() + .seconds(20)
        while !isSo(), Clock.now() < deadline {
            try loop.turn(until: Clock.now() + .milliseconds(2))
            server.timePassed(now: Clock.now())
        }
    }

    @Test("steps arrive as they are sent, and the connection ends after the last one")
    func steps() throws {
        let stream = ControlStream(wantsJSON: false)
        var gone = 0
        stream.onGone = { gone += 1 }
        stream.send("before\n")
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { client.text == "before\n" }
        #expect(client.text == "before\n")
        for step in ["one\n", "two\n", ""] {
            let sofar = client.text
            stream.send(step)
            try turn(server) { client.text == sofar + step }
            #expect(client.text == sofar + step && !client.hasEnded)
        }
        stream.send("last\n")
        stream.finish()
        stream.send("never\n")
        try turn(server) { client.hasEnded }
        #expect(client.text == "before\none\ntwo\nlast\n" && client.hasEnded && gone == 0)
    }

    @Test("an answer that is finished before a client waits is sent whole")
    func finishedEarly() throws {
        let stream = ControlStream(wantsJSON: false)
        stream.send("all\n")
        stream.finish()
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { client.hasEnded }
        #expect(client.text == "all\n" && client.hasEnded)
    }

    @Test("an answer that has nothing to say ends")
    func empty() throws {
        let stream = ControlStream(wantsJSON: false)
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { stream.onChange != nil }
        stream.finish()
        try turn(server) { client.hasEnded }
        #expect(client.text.isEmpty && client.hasEnded)
    }

    @Test("a client that goes is told of once, though nothing is being sent")
    func clientGoes() throws {
        let stream = ControlStream(wantsJSON: false)
        var gone = 0
        stream.onGone = {
            gone += 1
            stream.send("to nobody\n")
            stream.finish()
        }
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { stream.onChange != nil }
        client.close()
        try turn(server) { gone > 0 }
        stream.send("to nobody\n")
        #expect(gone == 1 && stream.unsent.isEmpty && server.nextDeadline == nil)
    }

    @Test("a client that has only ended its own side gets the rest")
    func halfClosed() throws {
        let stream = ControlStream(wantsJSON: false)
        var gone = 0
        stream.onGone = { gone += 1 }
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client("providers test a")
        client.endSending()
        try turn(server) { stream.onChange != nil }
        stream.send("step\n")
        try turn(server) { client.text == "step\n" }
        stream.finish()
        try turn(server) { client.hasEnded }
        #expect(client.text == "step\n" && gone == 0)
    }

    @Test("a client that reads nothing is cut off at 64 KiB unsent, and onGone never runs during a send")
    func overfull() throws {
        let stream = ControlStream(wantsJSON: false)
        var (gone, isSending, goneWhileSending) = (0, false, false)
        stream.onGone = {
            gone += 1
            goneWhileSending = isSending
        }
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { stream.onChange != nil }
        let step = String(repeating: "x", count: 1_023) + "\n"
        // The kernel's socket buffer fills before the stream holds bytes itself.
        for _ in 0..<4_096 where gone == 0 {
            isSending = true
            stream.send(step)
            isSending = false
            #expect(stream.unsent.count <= ControlStream.usualUnsentBytes)
            try loop.turn(until: Clock.now())
            server.timePassed(now: Clock.now())
        }
        #expect(gone == 1 && !goneWhileSending && server.nextDeadline == nil)
        withExtendedLifetime(client) {}
    }

    @Test("a client that lost a step is cut even if it takes the others by then")
    func lostStep() throws {
        let stream = ControlStream(wantsJSON: false)
        var gone = 0
        stream.onGone = { gone += 1 }
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { stream.onChange != nil }
        let step = String(repeating: "x", count: 1_023) + "\n"
        while !stream.isOverfull {
            stream.send(step)
            if !stream.isOverfull { try loop.turn(until: Clock.now()) }
        }
        _ = client.text
        try loop.turn(until: Clock.now() + .seconds(20))
        #expect(gone == 1 && server.nextDeadline == nil && client.hasEnded)
    }

    @Test("nothing said for 30 seconds ends it, and each step begins them anew")
    func silence() throws {
        let stream = ControlStream(wantsJSON: false)
        var gone = 0
        stream.onGone = { gone += 1 }
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { stream.onChange != nil }
        let first = try #require(server.nextDeadline)
        #expect(first > Clock.now() + .seconds(25) && first <= Clock.now() + .seconds(30))
        stream.send("step\n")
        try turn(server) { client.text == "step\n" }
        let second = try #require(server.nextDeadline)
        #expect(second > first)
        server.timePassed(now: second - .milliseconds(1))
        #expect(gone == 0)
        server.timePassed(now: second)
        #expect(gone == 1 && server.nextDeadline == nil)
        try turn(server) { client.hasEnded }
        #expect(client.hasEnded)
    }

    @Test("one that may be silent for ever is cut when what waits is not taken for its patience")
    func patience() throws {
        let stream = ControlStream(wantsJSON: false, silence: nil, patience: .seconds(30))
        var gone = 0
        stream.onGone = { gone += 1 }
        let server = try self.server { _, _ in .stream(stream) }
        let client = try self.client()
        try turn(server) { stream.onChange != nil }
        #expect(try #require(server.nextDeadline) > Clock.now() + .seconds(1 << 30))
        stream.send("step\n")
        try turn(server) { client.text == "step\n" }
        #expect(try #require(server.nextDeadline) > Clock.now() + .seconds(1 << 30), "all is taken")
        let step = String(repeating: "x", count: 1_023) + "\n"
        // The kernel's socket buffer fills before the stream holds bytes itself.
        while stream.room > 2 * step.utf8.count {
            stream.send(step)
            try loop.turn(until: Clock.now())
        }
        let deadline = try #require(server.nextDeadline)
        #expect(deadline <= Clock.now() + .seconds(30))
        stream.send(step)
        #expect(server.nextDeadline == deadline, "more of it is no sign of life")
        server.timePassed(now: deadline)
        #expect(gone == 1 && server.nextDeadline == nil)
        withExtendedLifetime(client) {}
    }

    @Test("streams count as clients: one more than there may be cuts the oldest")
    func bound() throws {
        var streams: [ControlStream] = []
        var gone = 0
        let server = try self.server { _, _ in
            let stream = ControlStream(wantsJSON: false)
            stream.onGone = { gone += 1 }
            streams.append(stream)
            return .stream(stream)
        }
        var all: [LocalClient] = []
        for count in 1...32 {
            all.append(try client())
            try turn(server) { streams.count == count }
        }
        #expect(gone == 0)
        all.append(try client())
        try turn(server) { streams.count == 33 }
        #expect(gone == 1 && streams.count == 33)
        try turn(server) { all[0].hasEnded }
        #expect(all.map(\.hasEnded) == [true] + Array(repeating: false, count: 32))
    }

    @Test("with all places taken by idle streams, a new client evicts the oldest stream and not a newer request")
    func newRequestStays() throws {
        var streams = 0
        let server = try self.server { _, _ in
            streams += 1
            return .stream(ControlStream(wantsJSON: false, silence: nil))
        }
        var idle: [LocalClient] = []
        for count in 1...31 {
            idle.append(try client())
            try turn(server) { streams == count }
        }
        // The client's line is incomplete, so it has a deadline; the streams have none.
        let request = try client("providers test a")
        let soon = Clock.now() + .seconds(60)
        try turn(server) { server.nextDeadline.map { $0 < soon } == true }
        let newest = try client()
        try turn(server) { streams == 32 }
        try turn(server) { idle[0].hasEnded }
        #expect(idle.map(\.hasEnded) == [true] + Array(repeating: false, count: 30))
        #expect(!request.hasEnded && !newest.hasEnded)
    }
}
