// Builds netlink's framing (netlink(7)): messages one after the other, and their attributes, padded to 4 bytes.

import CLinux
import Glibc

package struct NetlinkWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Appends a message.
    ///
    /// - Parameter body: appends its payload.
    package mutating func message(
        _ type: Int, flags: Int32, sequence: UInt32, _ body: (inout NetlinkWriter) -> Void
    ) {
        let start = bytes.count
        var header = nlmsghdr()
        header.nlmsg_type = UInt16(type)
        header.nlmsg_flags = UInt16(flags)
        header.nlmsg_seq = sequence
        append(header)
        body(&self)
        header.nlmsg_len = UInt32(bytes.count - start)
        replace(at: start, by: header)
    }

    /// Appends an attribute with this value.
    package mutating func attribute(_ type: some BinaryInteger, _ value: [UInt8]) {
        append(nlattr(nla_len: UInt16(MemoryLayout<nlattr>.size + value.count), nla_type: UInt16(type)))
        append(value)
    }

    /// Appends an attribute that consists of other attributes.
    package mutating func nested(_ type: some BinaryInteger, _ body: (inout NetlinkWriter) -> Void) {
        let start = bytes.count
        var header = nlattr(nla_len: 0, nla_type: UInt16(Int32(type) | NLA_F_NESTED))
        append(header)
        body(&self)
        header.nla_len = UInt16(bytes.count - start)
        replace(at: start, by: header)
    }

    /// Appends a struct as it is in memory.
    package mutating func append<Value: BitwiseCopyable>(_ value: Value) {
        unsafe withUnsafeBytes(of: value) { unsafe append(Array($0)) }
    }

    /// Appends bytes and padding.
    package mutating func append(_ data: [UInt8]) {
        bytes += data
        bytes += [UInt8](repeating: 0, count: NetlinkAttributes.aligned(bytes.count) - bytes.count)
    }

    private mutating func replace<Value: BitwiseCopyable>(at start: Int, by value: Value) {
        var copy = NetlinkWriter()
        copy.append(value)
        bytes.replaceSubrange(start..<start + copy.bytes.count, with: copy.bytes)
    }
}
