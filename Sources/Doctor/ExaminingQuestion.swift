// Builds the DNS queries that the doctor sends to nameservers.

import DNSWire

package enum ExaminingQuestion: Sendable {
    /// `. NS`: every resolver can answer it, and the answer fits into any packet.
    case short
    /// `. DNSKEY` with signatures: about 1,400 bytes today; the query accepts answers larger than one packet.
    case long

    private static let dnskeyType = RecordType(rawValue: 48)
    /// RFC 6891 section 6.2.5; most resolvers advertise less by default.
    private static let largePayloadBytes: UInt16 = 4096

    package func message(id: UInt16) -> [UInt8] {
        switch self {
        case .short: return UpstreamQuery.message(for: Question(.root, .ns), id: id)
        case .long:
            var message = UpstreamQuery.message(
                for: Question(.root, ExaminingQuestion.dnskeyType), id: id,
                payloadSize: ExaminingQuestion.largePayloadBytes)
            // The OPT flags precede the data length; the first flag is DO (RFC 3225).
            message[message.count - 4] |= 0x80
            return message
        }
    }
}
