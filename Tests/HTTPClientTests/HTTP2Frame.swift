// The part of HTTP/2 (RFC 9113) that a scripted server needs: it sends frames and reads until the awaited one.

enum HTTP2Frame {
    enum Kind: UInt8, Sendable {
        case data = 0
        case headers = 1
        case resetStream = 3
        case settings = 4
        case pushPromise = 5
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        case continuation = 9
    }

    static let maxConcurrentStreams: UInt16 = 3
    static let initialWindowSize: UInt16 = 4

    static let refusedStream: UInt32 = 7
    static let internalError: UInt32 = 2
    static let http11Required: UInt32 = 13

    static let settings = frame(.settings, stream: 0)

    static func settings(_ name: UInt16, _ value: UInt32) -> [UInt8] {
        frame(.settings, stream: 0, bytes(UInt32(name)).suffix(2) + bytes(value))
    }

    /// Status 200 and nothing else: the eighth entry of HPACK's static table (RFC 7541 appendix A).
    static func headers(stream: UInt32) -> [UInt8] { frame(.headers, flags: 4, stream: stream, [0x88]) }

    /// Status 200 with `count` headers "date:" without a value (entry 33) of one byte each.
    static func headers(stream: UInt32, dates count: Int) -> [UInt8] {
        frame(.headers, flags: 4, stream: stream, [0x88] + [UInt8](repeating: 0x80 | 33, count: count))
    }

    static let ping = frame(.ping, stream: 0, [UInt8](repeating: 0, count: 8))
    /// The acknowledgement of `ping`; the client's own pings have the same payload.
    static let pong = frame(.ping, flags: 1, stream: 0, [UInt8](repeating: 0, count: 8))

    static func data(stream: UInt32, _ text: String, isEnd: Bool = true) -> [UInt8] {
        frame(.data, flags: isEnd ? 1 : 0, stream: stream, Array(text.utf8))
    }

    static func reset(stream: UInt32, _ code: UInt32) -> [UInt8] {
        frame(.resetStream, stream: stream, bytes(code))
    }

    static func goAway(lastStream: UInt32) -> [UInt8] {
        frame(.goAway, stream: 0, bytes(lastStream) + bytes(0))
    }

    /// The frame, or nil if the connection ends before. The client's preface (24 bytes) is skipped.
    static func await(_ kind: Kind, stream id: UInt32, from stream: Stream) -> [UInt8]? {
        while var head = stream.receive(count: 9) {
            if head.starts(with: Array("PRI * HTT".utf8)) {
                guard stream.receive(count: 15) != nil, let first = stream.receive(count: 9) else { return nil }
                head = first
            }
            let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard let payload = stream.receive(count: count) else { return nil }
            let frameStream = head[5...8].reduce(0) { $0 << 8 | UInt32($1) }
            if head[3] == kind.rawValue, frameStream == id { return head + payload }
        }
        return nil
    }

    static func frame(_ kind: Kind, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        bytes(UInt32(payload.count)).dropFirst() + [kind.rawValue, flags] + bytes(stream) + payload
    }

    static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
