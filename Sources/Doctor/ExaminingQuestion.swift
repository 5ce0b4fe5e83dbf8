// The questions that the doctor asks, as bytes.

import DNSWire

package enum ExaminingQuestion: Sendable {
    /// To who should be the daemon: `version.bind. CH TXT`.
    case version
    /// To a nameserver: `. NS`, which every resolver knows, and fits everywhere.
    case short
    /// `. DNSKEY` with the signatures: some 1,400 bytes today, with room for more than a packet holds.
    case long

    private static let chaosClass: UInt16 = 3
    private static let dnskeyType = RecordType(rawValue: 48)
    /// RFC 6891 section 6.2.5; most resolvers send less on their own.
    private static let largePayloadBytes: UInt16 = 4096

    package func message(id: UInt16) -> [UInt8] {
        switch self {
        case .version:
            // Without EDNS the class is what the message ends with.
            var message =
                Name("version.bind").map { name in
                    UpstreamQuery.message(for: Question(name, .txt), id: id, payloadSize: nil)
                } ?? []
            message.replaceSubrange((message.count - 2)..., with: [0, UInt8(ExaminingQuestion.chaosClass)])
            return message
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

    /// Of a reply to `version`: its text holds our name. Nobody relies on it but people, so a search is enough.
    package static func isOurs(_ reply: [UInt8]) -> Bool {
        reply.firstRange(of: Array("httpdnsd ".utf8)) != nil
    }
}
