// DNS over TCP: every message has its length before it in two bytes (RFC 1035 section 4.2.2). Used by both sides.

package enum StreamFraming {
    package static let lengthBytes = 2
    package static let maxMessageBytes = 65_535
    /// How long a server of ours keeps a client's connection without questions in flight, and says so (RFC 7828).
    package static let idleTimeoutSeconds = 10

    /// - Parameter message: at most 65,535 bytes. Length and message go out in one write (RFC 7766 section 8).
    package static func frame(_ message: [UInt8]) -> [UInt8] {
        precondition(message.count <= maxMessageBytes, "no writer of messages exceeds the limit of a stream")
        var frame: [UInt8] = []
        frame.reserveCapacity(lengthBytes + message.count)
        frame.appendBigEndian(UInt16(message.count))
        frame += message
        return frame
    }
}

/// Cuts a stream back into messages. It holds at most one whole frame, so the sender's pace is the reader's pace.
package struct FrameReader: Sendable {
    /// The front `taken` bytes are done with. They are dropped when they are more than half, so that each byte moves
    /// twice at most; `pending` is never longer than two frames.
    private var pending: [UInt8] = []
    private var taken = 0

    /// The largest frame: then a whole message is always there before room runs out.
    package static let maxPendingBytes = StreamFraming.lengthBytes + StreamFraming.maxMessageBytes

    package init() {}

    /// How many bytes `append` will take; never 0 after `nextMessage` returned nil.
    package var freeBytes: Int { FrameReader.maxPendingBytes - pendingBytes }

    /// True in the middle of a frame: a stream that ends now was cut.
    package var hasPartialFrame: Bool { pendingBytes > 0 }

    /// True when `nextMessage` has one.
    package var hasWholeMessage: Bool { lengthOfNext.map { pendingBytes >= StreamFraming.lengthBytes + $0 } ?? false }

    /// Takes bytes from the front as far as there is room, and says how many it took.
    package mutating func append(_ bytes: Span<UInt8>) -> Int {
        let count = min(bytes.count, freeBytes)
        if taken > pending.count / 2 {
            pending.removeFirst(taken)
            taken = 0
        }
        for index in 0..<count { pending.append(bytes[index]) }
        return count
    }

    /// The next whole message; nil when more bytes are needed. May be empty: a length of 0 is legal framing.
    package mutating func nextMessage() -> [UInt8]? {
        guard let length = lengthOfNext, hasWholeMessage else { return nil }
        let start = taken + StreamFraming.lengthBytes
        let message = Array(pending[start..<(start + length)])
        taken = start + length
        if taken == pending.count {
            pending = []
            taken = 0
        }
        return message
    }

    private var lengthOfNext: Int? {
        pendingBytes >= StreamFraming.lengthBytes ? Int(pending[taken]) << 8 | Int(pending[taken + 1]) : nil
    }

    private var pendingBytes: Int { pending.count - taken }
}
