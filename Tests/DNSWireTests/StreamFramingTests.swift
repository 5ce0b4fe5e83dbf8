// DNS messages on a byte stream: the messages come out whole and in order, whatever the sizes of the pieces.

import DNSWire
import TestSupport
import Testing

struct StreamFramingTests {
    @Test("a frame is the length in two bytes and the message")
    func frame() {
        #expect(StreamFraming.frame([1, 2, 3]) == [0, 3, 1, 2, 3])
        #expect(StreamFraming.frame([]) == [0, 0])
        let longest = StreamFraming.frame(Array(repeating: 7, count: 65_535))
        #expect(longest.prefix(3) == [0xFF, 0xFF, 7])
        #expect(longest.count == FrameReader.maxPendingBytes)
    }

    @Test("messages cut at random places come out whole and in order", arguments: 0..<20)
    func randomPieces(seed: UInt64) {
        var randomness = SeededRandom(seed: seed)
        let messages = (0..<40).map { index in
            Array(repeating: UInt8(index), count: Int.random(in: 0...3000, using: &randomness))
        }
        let stream = messages.flatMap(StreamFraming.frame)
        var reader = FrameReader()
        var received: [[UInt8]] = []
        var at = 0
        while at < stream.count {
            let end = min(stream.count, at + Int.random(in: 1...4000, using: &randomness))
            let piece = Array(stream[at..<end])
            at += reader.append(piece.span)
            // The reader sometimes waits.
            for _ in 0..<Int.random(in: 0...3, using: &randomness) {
                if let message = reader.nextMessage() { received.append(message) }
            }
            if reader.freeBytes == 0 { while let message = reader.nextMessage() { received.append(message) } }
        }
        while let message = reader.nextMessage() { received.append(message) }
        #expect(received == messages, "seed \(seed)")
        #expect(!reader.hasPartialFrame)
    }

    @Test("a reader holds one largest frame and takes no more")
    func bound() {
        var reader = FrameReader()
        let frame = StreamFraming.frame(Array(repeating: 1, count: 65_535))
        #expect(reader.append(frame.span) == frame.count)
        #expect(reader.freeBytes == 0)
        #expect(reader.append([9].span) == 0)
        #expect(reader.nextMessage()?.count == 65_535)
        #expect(reader.freeBytes == FrameReader.maxPendingBytes)
    }

    @Test("a stream that ends inside a length or a message is seen to be cut", arguments: 1...4)
    func partial(count: Int) {
        var reader = FrameReader()
        _ = reader.append(Array([0, 3, 1, 2, 3][..<count]).span)
        #expect(reader.nextMessage() == nil)
        #expect(reader.hasPartialFrame)
        #expect(reader.missingBytes == (count == 1 ? 1 : 5 - count))
    }
}
