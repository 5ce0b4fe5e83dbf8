// DNS over TCP: each message follows its two-byte length (RFC 1035 section 4.2.2). Used by client and server.

package enum StreamFraming {
    package static let lengthBytes = 2
    package static let maxMessageBytes = 65_535
    /// How long the daemon keeps an idle client connection; sent to clients (RFC 7828).
    package static let idleTimeoutSeconds = 10

    /// - Parameter message: at most 65,535 bytes. Length and message are sent in one write (RFC 7766 section 8).
    package static func frame(_ message: [UInt8]) -> [UInt8] {
        var frame: [UInt8] = []
        frame.reserveCapacity(lengthBytes + message.count)
        append(message, to: &frame)
        return frame
    }

    /// Appends the frame of a message to others.
    package static func append(_ message: [UInt8], to frames: inout [UInt8]) {
        precondition(message.count <= maxMessageBytes, "no writer of messages exceeds the limit of a stream")
        frames.appendBigEndian(UInt16(message.count))
        frames += message
    }
}

/// Splits a stream into messages. Holds at most one whole frame, so the reader controls the sender's pace.
package struct FrameReader: Sendable {
    /// The first `taken` bytes are consumed. They are removed once they exceed half, so each byte moves at most
    /// twice. `pending` never exceeds two frames.
    private var pending: [UInt8] = []
    private var taken = 0

    /// The largest frame, so a whole message is available before the room runs out.
    package static let maxPendingBytes = StreamFraming.lengthBytes + StreamFraming.maxMessageBytes

    package init() {}

    /// How many bytes `append` accepts; never 0 after `nextMessage` returned nil.
    package var freeBytes: Int { FrameReader.maxPendingBytes - pendingBytes }

    /// True within a frame: a stream that ends here was truncated.
    package var hasPartialFrame: Bool { pendingBytes > 0 }

    /// True if `nextMessage` returns a message.
    package var hasWholeMessage: Bool { lengthOfNext.map { pendingBytes >= StreamFraming.lengthBytes + $0 } ?? false }

    /// Bytes to be read until the next length or message is whole; never 0 after `nextMessage` returned nil.
    package var missingBytes: Int {
        (lengthOfNext.map { StreamFraming.lengthBytes + $0 } ?? StreamFraming.lengthBytes) - pendingBytes
    }

    /// Appends bytes while there is room, and returns how many.
    package mutating func append(_ bytes: Span<UInt8>) -> Int {
        let count = min(bytes.count, freeBytes)
        if taken > pending.count / 2 {
            pending.removeFirst(taken)
            taken = 0
        }
        pending.append(addingCapacity: count) { output in output.append(bytes.extracting(..<count)) }
        return count
    }

    /// Returns the next whole message; nil if more bytes are needed. May be empty, since a length of 0 is legal.
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
