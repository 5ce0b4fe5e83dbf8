// Parses netlink's framing (netlink(7)): messages and their attributes. Every length is checked, and a wrong one ends
// the iteration.

import CLinux
package import DNSWire
import Glibc

/// One message: its header and the range of its payload.
package struct NetlinkMessage {
    package let type: Int
    package let flags: Int32
    package let sequence: UInt32
    /// The port of a socket: in a notification, of the socket that requested the change.
    package let port: UInt32
    package let payload: Range<Int>
}

/// Iterates over the messages of one datagram.
package struct NetlinkMessages {
    private var at = 0

    package init() {}

    package mutating func next(in bytes: Span<UInt8>) -> NetlinkMessage? {
        let size = MemoryLayout<nlmsghdr>.size
        guard let header = bytes.load(nlmsghdr.self, in: at..<bytes.count) else { return nil }
        let length = Int(header.nlmsg_len)
        guard length >= size, length <= bytes.count - at else { return nil }
        defer { at = min(at + NetlinkAttributes.aligned(length), bytes.count) }
        return NetlinkMessage(
            type: Int(header.nlmsg_type), flags: Int32(header.nlmsg_flags), sequence: header.nlmsg_seq,
            port: header.nlmsg_pid, payload: at + size..<at + length)
    }
}

/// Iterates over attributes: a length and a type of two bytes each, a value, and padding.
package struct NetlinkAttributes {
    private var rest: Range<Int>

    /// - Parameter skipping: size of the struct before the attributes. If it does not fit, there are no attributes.
    package init(_ range: Range<Int>, skipping size: Int = 0) {
        let skipped = NetlinkAttributes.aligned(size)
        rest =
            skipped <= range.count ? range.lowerBound + skipped..<range.upperBound : range.upperBound..<range.upperBound
    }

    package mutating func next(in bytes: Span<UInt8>) -> (type: Int, value: Range<Int>)? {
        let size = MemoryLayout<nlattr>.size
        guard let header = bytes.load(nlattr.self, in: rest) else { return nil }
        let length = Int(header.nla_len)
        guard length >= size, length <= rest.count else { return nil }
        let value = rest.lowerBound + size..<rest.lowerBound + length
        rest = min(rest.lowerBound + NetlinkAttributes.aligned(length), rest.upperBound)..<rest.upperBound
        return (Int(header.nla_type) & ~NetlinkAttributes.flags, value)
    }

    /// Alignment of messages, attributes and hops: 4 bytes.
    package static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

    private static let flags = Int(NLA_F_NESTED | NLA_F_NET_BYTEORDER)
}

extension Span<UInt8> {
    /// Returns the value at the start of `range`, in the machine's byte order; nil if it does not fit.
    package func load<Value: BitwiseCopyable>(_ type: Value.Type, in range: Range<Int>) -> Value? {
        guard range.count >= MemoryLayout<Value>.size, range.upperBound <= count else { return nil }
        return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: range.lowerBound, as: type)
    }

    /// Returns an address of 4 or 16 bytes; nil for other families or a wrong size.
    package func address(in range: Range<Int>, family: Int32) -> Address? {
        switch family {
        case AF_INET: return load(UInt32.self, in: range).map { .v4(UInt32(bigEndian: $0)) }
        case AF_INET6:
            guard let high = load(UInt64.self, in: range), let low = load(UInt64.self, in: range.dropFirst(8)) else {
                return nil
            }
            return .v6(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        default: return nil
        }
    }

    /// Returns the text up to the end of the range or a zero byte.
    package func text(in range: Range<Int>) -> String {
        unsafe extracting(range).withUnsafeBufferPointer { buffer in
            unsafe String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
