// The carriers of DNS messages between a client and the daemon, with the facts in which listeners differ.

/// The raw values are written to files of the flight recorder, which has room for 1 to 3.
package enum Transport: UInt8, CaseIterable, Sendable {
    case udp = 1
    case tcp

    /// The name in statistics and in events of the flight recorder.
    package var word: String {
        switch self {
        case .udp: "udp"
        case .tcp: "tcp"
        }
    }

    /// Whether a connection carries the messages, each after its length. A reply has up to 65,535 bytes then, and tells
    /// the idle timeout to a client that asks for it (RFC 7828).
    package var isStream: Bool {
        switch self {
        case .udp: false
        case .tcp: true
        }
    }

    /// Whether the client's address cannot be forged. Queries from other addresses are subject to the rate limits.
    package var provesAddress: Bool {
        switch self {
        case .udp: false
        case .tcp: true
        }
    }
}
