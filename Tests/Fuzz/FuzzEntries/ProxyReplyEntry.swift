// Bytes from a proxy: the first one chooses its kind, and whether there is a login. Any segmentation opens the tunnel
// at the same byte, or fails alike.

import DNSWire
import HTTPClient

extension FuzzEntry {
    package static let proxyReply = FuzzEntry(name: "ProxyReply") { bytes in
        guard let choice = bytes.first else { return }
        let reply = Array(bytes.dropFirst())
        let whole = outcome(choice, reply, cut: max(1, reply.count))
        precondition(outcome(choice, reply, cut: 1) == whole, "the same outcome in single bytes")
    }

    private struct Outcome: Equatable {
        var progress = ProxyTunnel.Progress.underWay
        var sent: [UInt8] = []
        /// The position of the endpoint's first byte.
        var endpointAt: Int?
    }

    private static func outcome(_ choice: UInt8, _ reply: [UInt8], cut: Int) -> Outcome {
        guard
            let proxy = HTTPProxy(
                kind: choice & 1 == 0 ? .connect : .socks5h, address: "127.0.0.1", port: 1,
                userName: choice & 2 == 0 ? nil : "user", password: choice & 2 == 0 ? nil : "password")
        else { preconditionFailure("the proxy is valid") }
        var tunnel = ProxyTunnel(to: SocketAddress(.loopback6, port: 443), through: proxy)
        var outcome = Outcome()
        for first in stride(from: 0, to: reply.count, by: cut) where outcome.progress == .underWay {
            let piece = Array(reply[first..<min(first + cut, reply.count)])
            var start = 0
            outcome.progress = tunnel.receive(piece.span, from: &start)
            if outcome.progress == .established { outcome.endpointAt = first + start }
        }
        outcome.sent = tunnel.takeOutput()
        return outcome
    }
}
