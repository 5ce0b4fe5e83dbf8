// The invariants of the fast path's reply to any packet, for random tests and the fuzzer.

package import Serving

package enum ReplyShape {
    /// The fault of the reply; nil: none.
    package static func fault(
        of reply: [UInt8], _ outcome: FastPath.Outcome, to packet: [UInt8], isStream: Bool
    ) -> String? {
        switch outcome {
        case .dropped, .miss: return reply.isEmpty ? nil : "a reply with \(outcome)"
        case .answered, .answeredAndDue, .answeredAwaited, .local, .refused, .limited: break
        }
        guard let message = try? DecodedMessage(reply) else { return "the reply cannot be read" }
        guard packet.count >= 12, packet[2] < 0x80 else { return "a reply to what is no query" }
        guard message.isReply, reply[..<2] == packet[..<2] else { return "QR or id" }
        guard message.questions.count <= 1, message.additionals.count <= 1 else { return "more than question and OPT" }
        guard !message.isAuthoritative, !message.authenticData, !message.reservedBit else { return "AA, AD or Z" }
        let asked = try? DecodedMessage(packet)
        guard reply.count <= limit(asked, isStream) else { return "\(reply.count) bytes are over the limit" }
        // A second parser checks the place of the OPT record. It cannot check packets that it cannot read to their end.
        guard let asked, asked.isSmall else { return nil }
        return (message.optionRecord != nil) == (asked.optionRecord != nil) ? nil : "OPT in one, not in the other"
    }

    private static func limit(_ asked: DecodedMessage?, _ isStream: Bool) -> Int {
        if isStream { return 65_535 }
        // Only the query parser reads this packet: a compressed owner points nowhere.
        guard let asked else { return 1232 }
        return min(max(Int(asked.optionRecord?.recordClass ?? 0), 512), 1232)
    }
}

extension DecodedMessage {
    /// Whether the records are so few that the query parser reads them even in the wrong sections.
    fileprivate var isSmall: Bool {
        questions.count <= 2 && answers.count + authorities.count + additionals.count <= 3
            && !(answers + authorities).contains { $0.type == 41 }
    }
}
