// What we ask rtnetlink for, as bytes, and where its answer ends.

import CLinux
import Glibc

enum NetlinkRequest {
    /// Everything of a kind (NLM_F_DUMP).
    ///
    /// - Parameters:
    ///   - type: RTM_GETLINK and the like.
    ///   - headerBytes: the size of the struct that follows the message's header for this kind, family first.
    static func everything(_ type: Int, headerBytes: Int, family: Int32, sequence: UInt32) -> [UInt8] {
        let header = [UInt8(family)] + [UInt8](repeating: 0, count: headerBytes - 1)
        return message(type, flags: NLM_F_REQUEST | NLM_F_DUMP, sequence: sequence, payload: header)
    }

    /// What is known of one neighbour.
    static func neighbour(_ place: NeighbourReport.Place, sequence: UInt32) -> [UInt8] {
        var header = ndmsg()
        header.ndm_family = UInt8(place.address.family)
        header.ndm_ifindex = place.link
        let address = place.address.ipBytes
        var attribute = nlattr()
        attribute.nla_len = UInt16(MemoryLayout<nlattr>.size + address.count)
        attribute.nla_type = UInt16(NDA_DST)
        let payload = bytes(of: header) + bytes(of: attribute) + address
        return message(RTM_GETNEIGH, flags: NLM_F_REQUEST, sequence: sequence, payload: payload)
    }

    private static func message(_ type: Int, flags: Int32, sequence: UInt32, payload: [UInt8]) -> [UInt8] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + payload.count)
        header.nlmsg_type = UInt16(type)
        header.nlmsg_flags = UInt16(flags)
        header.nlmsg_seq = sequence
        return bytes(of: header) + payload
    }

    private static func bytes<Value: BitwiseCopyable>(of value: Value) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
    }
}

/// How far an answer has come.
struct NetlinkAnswer {
    /// Nothing more comes.
    private(set) var isComplete = false
    /// The kernel's tables changed while it was telling: it may have left out something.
    private(set) var wasInterrupted = false
    /// An error number; 0 for none.
    private(set) var code: Int32 = 0

    /// - Parameter sequence: of the request; what answers another one counts for nothing.
    mutating func take(_ bytes: Span<UInt8>, sequence: UInt32) {
        var messages = NetlinkMessages()
        while let message = messages.next(in: bytes) {
            guard message.sequence == sequence else { continue }
            if message.flags & NLM_F_DUMP_INTR != 0 { wasInterrupted = true }
            // Both carry an error number that is negative, or zero for none.
            if message.type == Int(NLMSG_ERROR) || message.type == Int(NLMSG_DONE) {
                code = 0 &- (bytes.load(Int32.self, in: message.payload) ?? 0)
                isComplete = true
            }
            if message.flags & NLM_F_MULTI == 0 { isComplete = true }
        }
    }
}
