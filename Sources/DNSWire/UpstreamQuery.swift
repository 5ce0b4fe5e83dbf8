// The message that asks an upstream one question: over UDP and TCP to nameservers, and as the body of DoH requests.

package enum UpstreamQuery {
    /// RFC 8467 section 4.1: the block that client queries are padded to.
    package static let paddingBlockBytes = 128
    private static let paddingOption: UInt16 = 12

    /// RD=1, one question of class IN, EDNS version 0 without DO.
    /// - Parameters:
    ///   - id: fresh and random for every datagram; 0 for DoH (RFC 8484 section 4.1).
    ///   - payloadSize: what we take over UDP without fragments; nil leaves EDNS out, for servers that do not know it.
    ///   - paddedTo: at least 1; the message's length becomes a multiple of it (RFC 7830). For encrypted transports.
    package static func message(
        for question: Question, id: UInt16, payloadSize: UInt16? = UInt16(EDNS.ourPayloadBytes), paddedTo: Int? = nil
    ) -> [UInt8] {
        var message: [UInt8] = []
        message.appendBigEndian(id)
        message.appendBigEndian(Header.recursionDesiredFlag)
        for count: UInt16 in [1, 0, 0, payloadSize == nil ? 0 : 1] { message.appendBigEndian(count) }
        message += question.name.wire
        message.appendBigEndian(question.type.rawValue)
        message.appendBigEndian(Query.classIN)
        if let payloadSize { appendOptionRecord(to: &message, payloadSize: payloadSize, paddedTo: paddedTo) }
        return message
    }

    private static func appendOptionRecord(to message: inout [UInt8], payloadSize: UInt16, paddedTo block: Int?) {
        message.append(0)
        message.appendBigEndian(RecordType.opt.rawValue)
        message.appendBigEndian(payloadSize)
        for _ in 0..<4 { message.append(0) }
        guard let block else {
            message.appendBigEndian(UInt16(0))
            return
        }
        let optionHeaderBytes = 4
        let unpaddedBytes = message.count + 2 + optionHeaderBytes
        let padding = (block - unpaddedBytes % block) % block
        message.appendBigEndian(UInt16(optionHeaderBytes + padding))
        message.appendBigEndian(paddingOption)
        message.appendBigEndian(UInt16(padding))
        message += Array(repeating: 0, count: padding)
    }
}
