// The questions that the doctor asks of nameservers, as bytes.

import DNSWire

package enum ExaminingQuestion: Sendable {
    /// `. NS`, which every resolver knows, and fits everywhere.
    case short
    /// `. DNSKEY` with the signatures: some 1,400 bytes today, with room for more than a packet holds.
    case long

    private static let dnskeyType = RecordType(rawValue: 48)
    /// RFC 6891 section 6.2.5; most resolvers send less on their own.
    private static let largePayloadBytes: UInt16 = 4096

    package func message(id: UInt16) -> [UInt8] {
        switch self {
        case .short: return UpstreamQuery.message(for: Question(.root, .ns), id: id)
        case .long:
            var message = UpstreamQuery.message(
                for: Question(.root, ExaminingQuestion.dnskeyType), id: id,
                payloadSize: ExaminingQuestion.largePayloadBytes)
            // The flags of OPT stand before the length of its data; the first is DO (RFC 3225).
            message[message.count - 4] |= 0x80
            return message
        }
    }
}
