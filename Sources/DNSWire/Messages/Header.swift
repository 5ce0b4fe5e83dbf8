// The twelve-byte message header (RFC 1035 section 4.1.1), and the flags of our replies.

package struct Header: Equatable, Sendable {
    package static let byteCount = 12

    package let id: UInt16
    package let flags: UInt16
    package let questionCount: UInt16
    package let answerCount: UInt16
    package let authorityCount: UInt16
    package let additionalCount: UInt16

    package static let replyFlag: UInt16 = 0x8000
    package static let truncatedFlag: UInt16 = 0x0200
    package static let recursionDesiredFlag: UInt16 = 0x0100
    package static let recursionAvailableFlag: UInt16 = 0x0080
    package static let authenticDataFlag: UInt16 = 0x0020
    package static let checkingDisabledFlag: UInt16 = 0x0010
    private static let opcodeMask: UInt16 = 0x7800

    /// Returns nil if there are fewer than twelve bytes.
    package init?(_ message: Span<UInt8>) {
        guard message.count >= Header.byteCount else { return nil }
        id = message.bigEndian16(at: 0)
        flags = message.bigEndian16(at: 2)
        questionCount = message.bigEndian16(at: 4)
        answerCount = message.bigEndian16(at: 6)
        authorityCount = message.bigEndian16(at: 8)
        additionalCount = message.bigEndian16(at: 10)
    }

    package var isReply: Bool { flags & Header.replyFlag != 0 }
    package var isTruncated: Bool { flags & Header.truncatedFlag != 0 }
    /// AD: the sender vouches for all records (RFC 4035 section 3.2.3).
    package var isAuthentic: Bool { flags & Header.authenticDataFlag != 0 }
    /// The opcode; 0 is QUERY.
    package var opcode: UInt16 { (flags & Header.opcodeMask) >> 11 }
    /// The low four bits of the response code; an OPT record may extend them (RFC 6891 section 6.1.3).
    package var responseCode: UInt16 { flags & 0x000F }

    /// Flags of our replies: QR and RA set, opcode, RD and CD copied, AA, AD and Z clear (RFC 1035 section 4.1.1). RD,
    /// RA and CD are defined for QUERY only. Replies to other opcodes and NOTIMP replies omit them, as in BIND.
    static func replyFlags(to queryFlags: UInt16, code: ResponseCode, isTruncated: Bool) -> UInt16 {
        let opcode = queryFlags & opcodeMask
        let always = opcode | replyFlag | (isTruncated ? truncatedFlag : 0) | (code.rawValue & 0x000F)
        guard opcode == 0, code != .notImplemented else { return always }
        return always | recursionAvailableFlag | queryFlags & (recursionDesiredFlag | checkingDisabledFlag)
    }
}

extension Span<UInt8> {
    /// Checks the bounds once, not once per byte; stops the process outside of them.
    @inline(__always)
    func bigEndian16(at offset: Int) -> UInt16 {
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self).bigEndian
    }

    @inline(__always)
    func bigEndian32(at offset: Int) -> UInt32 {
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self).bigEndian
    }
}
