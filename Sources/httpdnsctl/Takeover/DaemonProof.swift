// Queries that only httpdnsd answers in a known way. They prove that an address leads to the daemon, directly or
// through a forwarder.

import DNSWire

enum DaemonProof: CaseIterable, Sendable {
    /// CHAOS TXT: resolvers do not forward it.
    case version
    /// A zone that only the daemon serves; a forwarder passes the query on.
    case zone
    /// A query for localhost A: shows that the daemon answers queries for names.
    case name

    private var labels: [String] {
        switch self {
        case .version: ["version", "bind"]
        case .zone: ["why", "httpdnsd"]
        case .name: ["localhost"]
        }
    }

    /// Type and class of the question.
    private var kind: [UInt8] {
        switch self {
        case .version: [0, 16, 0, 3]
        case .zone: [0, 16, 0, 1]
        case .name: [0, 1, 0, 1]
        }
    }

    /// Bytes that appear only in the daemon's answer; in the query the name has another form.
    private var words: [UInt8] {
        switch self {
        case .version: Array("httpdnsd ".utf8)
        case .zone: Array(".why.httpdnsd.".utf8)
        case .name: [127, 0, 0, 1]
        }
    }

    /// Returns the query (RFC 1035 section 4.1), with recursion desired.
    func question(id: UInt16) -> [UInt8] {
        let header: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xFF), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        return header + labels.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0] + kind
    }

    /// Returns true if the reply matches `id`, has no error, and contains the expected bytes.
    func isProved(by reply: [UInt8], id: UInt16) -> Bool {
        guard reply.count > 12, reply[0] == UInt8(id >> 8), reply[1] == UInt8(id & 0xFF), reply[2] & 0x80 != 0,
            reply[3] & 0x0F == 0, reply[6] != 0 || reply[7] != 0
        else { return false }
        return reply.dropFirst(12).firstRange(of: words) != nil
    }
}
