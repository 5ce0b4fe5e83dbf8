// Builds the query for one question: for nameservers over UDP and TCP, and as the body of DoH requests.

package enum UpstreamQuery {
    /// The padding block size for client queries (RFC 8467 section 4.1).
    package static let paddingBlockBytes = 128
    private static let paddingOption: UInt16 = 12
    /// Code and length of an option.
    private static let optionHeaderBytes = 4

    /// Builds a query with RD=1, one question of class IN, and EDNS version 0; DO and CD as in the question.
    ///
    /// - Parameters:
    ///   - id: fresh and random for every datagram; 0 for DoH (RFC 8484 section 4.1).
    ///   - payloadSize: the UDP payload size to advertise; nil omits EDNS, for servers without support.
    ///   - paddedTo: at least 1; pads the message to a multiple of this number (RFC 7830). For encrypted transports;
    ///     needs EDNS.
    ///   - clientSubnet: the client subnet of the answer (RFC 7871). Length 0 forbids servers to forward any location
    ///     (section 7.1.2); nil omits the option. Needs EDNS.
    ///   - wantsAuthenticData: AD of the reply is read, and the query asks for it (RFC 6840 section 5.7).
    ///   - isLowercased: the name is written in lower case, so that equal questions give equal messages.
    package static func message(
        for question: Question, id: UInt16, payloadSize: UInt16? = UInt16(EDNS.ourPayloadBytes), paddedTo: Int? = nil,
        clientSubnet: Prefix? = nil, wantsAuthenticData: Bool = false, isLowercased: Bool = false
    ) -> [UInt8] {
        let checking = question.dnssec.contains(.checkingDisabled) ? Header.checkingDisabledFlag : 0
        let authentic = wantsAuthenticData ? Header.authenticDataFlag : 0
        let plainBytes =
            Header.byteCount + question.name.wire.count + 4 + (payloadSize == nil ? 0 : EDNS.emptyRecordBytes)
        var options: [UInt8] = []
        if let clientSubnet { options = option(EDNS.ClientSubnet.optionCode, content(clientSubnet)) }
        if let paddedTo {
            let unpaddedBytes = plainBytes + options.count + optionHeaderBytes
            let padding = (paddedTo - unpaddedBytes % paddedTo) % paddedTo
            options += option(paddingOption, Array(repeating: 0, count: padding))
        }
        var message: [UInt8] = []
        message.append(addingCapacity: plainBytes + options.count) { output in
            output.appendBigEndian(id)
            output.appendBigEndian(Header.recursionDesiredFlag | authentic | checking)
            // One question, no answer or authority record, and the OPT record.
            output.appendBigEndian(UInt64(1) << 48 | (payloadSize == nil ? 0 : 1))
            let start = output.count
            output.append(question.name.wire.span)
            if isLowercased { for index in start..<output.count { output[index] = output[index].lowercased } }
            output.appendBigEndian(UInt32(question.type.rawValue) << 16 | UInt32(Query.classIN))
            guard let payloadSize else { return }
            output.append(0)
            output.appendBigEndian(UInt32(RecordType.opt.rawValue) << 16 | UInt32(payloadSize))
            output.appendBigEndian(UInt32(question.dnssec.optionFlags))
            output.appendBigEndian(UInt16(options.count))
            output.append(options.span)
        }
        return message
    }

    private static func option(_ code: UInt16, _ content: [UInt8]) -> [UInt8] {
        var option: [UInt8] = []
        option.appendBigEndian(code)
        option.appendBigEndian(UInt16(content.count))
        return option + content
    }

    /// Returns the option's content (RFC 7871 section 6): family, prefix length, scope (0 in queries), and the bytes
    /// that the prefix touches.
    private static func content(_ subnet: Prefix) -> [UInt8] {
        let family: UInt8 = subnet.address.recordType == .a ? 1 : 2
        return [0, family, UInt8(subnet.length), 0] + subnet.address.bytes.prefix((subnet.length + 7) / 8)
    }
}
