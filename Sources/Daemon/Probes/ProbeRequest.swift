// The single HTTP request that a probe may send, and the status of its reply. The rest of the reply is not read.

import DNSWire

struct ProbeRequest {
    /// The reply as far as it has been read; a status tells whether the server serves the name.
    enum Reply: Equatable {
        case incomplete
        case status(Int)
        /// The reply is not HTTP/1.
        case other
    }

    /// The status 421, Misdirected Request (RFC 9110 section 15.5.20).
    static let misdirected = 421

    let bytes: [UInt8]
    private var received: [UInt8] = []

    /// Size of "HTTP/1.1 200" (RFC 9112 section 4); the reason phrase is not read.
    private static let statusBytes = 12

    /// - Parameter name: without a final dot.
    init(name: String, port: UInt16) {
        let host = port == 443 ? name : "\(name):\(port)"
        let lines = ["HEAD / HTTP/1.1", "Host: \(host)", "User-Agent: httpdnsd", "Connection: close", "", ""]
        bytes = Array(lines.joined(separator: "\r\n").utf8)
    }

    /// Takes received bytes. Stops at the first bytes that cannot be a status line, so that no bytes after it are
    /// collected.
    mutating func receive(_ piece: [UInt8]) -> Reply {
        received += piece.prefix(ProbeRequest.statusBytes - received.count)
        var status = 0
        for (byte, expected) in zip(received, "HTTP/1.x nnn".utf8) {
            switch expected {
            case UInt8(ascii: "x"), UInt8(ascii: "n"):
                guard byte.isDigit else { return .other }
                if expected == UInt8(ascii: "n") { status = status * 10 + Int(byte - UInt8(ascii: "0")) }
            default:
                guard byte == expected else { return .other }
            }
        }
        return received.count == ProbeRequest.statusBytes ? .status(status) : .incomplete
    }
}
