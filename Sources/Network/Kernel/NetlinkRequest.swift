// Requests to rtnetlink as bytes, and the progress of their answers.

import CLinux
import DNSWire
import Glibc
import LinuxIO

enum NetlinkRequest {
    /// Returns a request for all objects of a kind (NLM_F_DUMP).
    ///
    /// - Parameters:
    ///   - type: the type of the request, such as RTM_GETLINK.
    ///   - headerBytes: size of the struct after the message header for this kind; its first field is the family.
    static func everything(_ type: Int, headerBytes: Int, family: Int32, sequence: UInt32) -> [UInt8] {
        let header = [UInt8(family)] + [UInt8](repeating: 0, count: headerBytes - 1)
        return message(type, flags: NLM_F_REQUEST | NLM_F_DUMP, sequence: sequence) { $0.append(header) }
    }

    /// Returns a request for one neighbour.
    static func neighbour(_ place: NeighbourReport.Place, sequence: UInt32) -> [UInt8] {
        var header = ndmsg()
        header.ndm_family = UInt8(place.address.family)
        header.ndm_ifindex = Int32(truncatingIfNeeded: place.link)
        return message(RTM_GETNEIGH, flags: NLM_F_REQUEST, sequence: sequence) {
            $0.append(header)
            $0.attribute(NDA_DST, place.address.bytes)
        }
    }

    private static func message(
        _ type: Int, flags: Int32, sequence: UInt32, _ body: (inout NetlinkWriter) -> Void
    ) -> [UInt8] {
        var writer = NetlinkWriter()
        writer.message(type, flags: flags, sequence: sequence, body)
        return writer.bytes
    }
}

/// Progress of an answer.
struct NetlinkAnswer {
    /// The answer has ended.
    private(set) var isComplete = false
    /// The kernel's tables changed during the dump, so it may be incomplete (NLM_F_DUMP_INTR).
    private(set) var wasInterrupted = false
    /// Error number; 0 if there was no error.
    private(set) var code: Int32 = 0

    /// - Parameter sequence: sequence number of the request. Answers to other requests are ignored.
    mutating func take(_ bytes: Span<UInt8>, sequence: UInt32) {
        var messages = NetlinkMessages()
        while let message = messages.next(in: bytes) {
            guard message.sequence == sequence else { continue }
            if message.flags & NLM_F_DUMP_INTR != 0 { wasInterrupted = true }
            // Both types have a negative error number, or zero for no error.
            if message.type == Int(NLMSG_ERROR) || message.type == Int(NLMSG_DONE) {
                code = 0 &- (bytes.load(Int32.self, in: message.payload) ?? 0)
                isComplete = true
            }
            if message.flags & NLM_F_MULTI == 0 { isComplete = true }
        }
    }
}
