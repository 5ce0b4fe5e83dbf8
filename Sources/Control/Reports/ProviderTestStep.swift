// One step of `providers test`, as text and JSON.

import DNSWire

package struct ProviderTestStep: Report, Codable, Equatable {
    package var step: String
    /// Duration of the whole exchange, including the connection setup.
    package var milliseconds: Int?
    /// Duration since the start of the exchange; nil if the connection existed already.
    package var connectMilliseconds: Int?
    package var handshakeMilliseconds: Int?
    package var connectionWasReused: Bool?
    package var httpVersion: String?
    package var certificate: String?
    /// One text per question that was answered.
    package var answers: [String] = []
    package var failure: String?

    package init(_ step: String, failure: String? = nil) {
        self.step = step
        self.failure = failure
    }

    package enum CodingKeys: String, CodingKey {
        case step, certificate, answers, failure
        case milliseconds = "total_ms"
        case connectMilliseconds = "connect_ms"
        case handshakeMilliseconds = "handshake_ms"
        case connectionWasReused = "reused"
        case httpVersion = "http"
    }

    package var text: String {
        var parts: [String] = []
        if let milliseconds { parts.append("\(milliseconds) ms") }
        if let connectMilliseconds, let handshakeMilliseconds {
            let handshake = handshakeMilliseconds > connectMilliseconds ? ", TLS after \(handshakeMilliseconds) ms" : ""
            parts.append("connected after \(connectMilliseconds) ms\(handshake)")
        } else if connectionWasReused == true {
            parts.append("same connection")
        }
        if let httpVersion { parts.append("HTTP/\(httpVersion)") }
        let lines =
            [certificate.map { "certificate \($0)" }] + answers.map(Optional.some) + [failure.map { "failed: \($0)" }]
        return "\(step): \(parts.joined(separator: ", "))\n" + lines.compactMap { $0 }.map { "  \($0)\n" }.joined()
    }
}
