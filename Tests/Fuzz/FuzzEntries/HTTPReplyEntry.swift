// Bytes from an HTTP/1.1 server. Any segmentation gives the same reply, within its bounds.

import HTTPClient

extension FuzzEntry {
    package static let httpReply = FuzzEntry(name: "HTTPReply") { bytes in
        let whole = HeardReply(bytes, cut: max(1, bytes.count))
        for cut in [1, 7] { precondition(HeardReply(bytes, cut: cut) == whole, "the same reply in pieces of \(cut)") }
        precondition(whole.fields.count <= 64 && whole.fields.joined().count <= 16_384, "the headers have a bound")
    }
}

/// What a reader reports about a reply.
private struct HeardReply: Equatable {
    private(set) var fields: [[UInt8]] = []
    private var status: Int?
    private var body: [UInt8] = []
    private var end: HTTP1Reader.Event?
    private var byteCount = 0
    private var keepsConnection = false

    init(_ bytes: [UInt8], cut: Int) {
        var reader = HTTP1Reader()
        for first in stride(from: 0, to: bytes.count, by: cut) where end == nil {
            let piece = Array(bytes[first..<min(first + cut, bytes.count)])
            var start = 0
            while end == nil, take(reader.next(in: piece.span, from: &start), of: piece, reader) {}
            byteCount += start
        }
        if end == nil, reader.receivedEnd() { end = .complete }
        // What is no status line may be refused before its end.
        if case .failed = end { byteCount = 0 }
        keepsConnection = reader.keepsConnection
    }

    /// - Returns: false if the piece is processed.
    private mutating func take(_ event: HTTP1Reader.Event, of piece: [UInt8], _ reader: HTTP1Reader) -> Bool {
        switch event {
        case .needsMore: return false
        case .status(let status): self.status = status
        case .field(let field):
            let bytes = field.isHeld ? reader.held : piece
            fields.append(Array(bytes[field.name] + [0] + bytes[field.value]))
        case .endOfFields: break
        case .data(let range): body += piece[range]
        case .complete, .failed: end = event
        }
        return true
    }
}
