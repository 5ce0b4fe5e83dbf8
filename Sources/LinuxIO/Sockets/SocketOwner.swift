// The user of a TCP connection's other end, if that is on this machine: the kernel's socket diagnosis (sock_diag(7))
// finds one socket by its addresses, whatever the number of sockets.

package import DNSWire
import Glibc

package enum SocketOwner {
    // Of <linux/sock_diag.h> and <linux/inet_diag.h>.
    private static let netlinkSocketDiagnosis: Int32 = 4
    private static let byFamily: UInt16 = 20
    private static let headerBytes = 16
    private static let requestFlag: UInt16 = 1
    /// Behind the message's header, four bytes, the addresses, and three counters.
    private static let userPlace = headerBytes + 4 + 48 + 12
    /// Of a message with all its attributes, none of which is asked for.
    private static let maxReplyBytes = 512

    /// Returns the user of the socket at `peer` that is connected to `local`; nil if it is on another machine, or if
    /// the kernel does not tell.
    package static func userID(of peer: SocketAddress, connectedTo local: SocketAddress) -> UInt32? {
        do throws(SystemError) {
            let socket = try FileDescriptor(socketOf: AF_NETLINK, type: SOCK_RAW, protocol: netlinkSocketDiagnosis)
            let request = request(peer, local)
            try SystemCall.run("send") { unsafe send(socket.raw, request, request.count, 0) }
            // The kernel has answered when `send` returns.
            let reply = try unsafe SystemCall.bytes("recv", maxBytes: maxReplyBytes) { buffer, count in
                unsafe recv(socket.raw, buffer, count, 0)
            }
            return reply.flatMap(userID)
        } catch {
            return nil
        }
    }

    private static func request(_ peer: SocketAddress, _ local: SocketAddress) -> [UInt8] {
        let (source, target) = (peer.address.mapped ?? peer.address, local.address.mapped ?? local.address)
        let family = UInt8(source.isIPv6 ? AF_INET6 : AF_INET)
        let padded = { (address: Address) in
            Array(address.bytes) + [UInt8](repeating: 0, count: 16 - address.bytes.count)
        }
        let anyState: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
        let anyInterface: [UInt8] = [0, 0, 0, 0]
        let noCookie = [UInt8](repeating: 0xFF, count: 8)
        let port = { (port: UInt16) in [UInt8(port >> 8), UInt8(port & 0xFF)] }
        let body =
            [family, UInt8(IPPROTO_TCP), 0, 0] + anyState + port(peer.port) + port(local.port) + padded(source)
            + padded(target) + anyInterface + noCookie
        return native(UInt32(headerBytes + body.count)) + native(byFamily) + native(requestFlag)
            + [UInt8](repeating: 0, count: 8) + body
    }

    private static func userID(in reply: [UInt8]) -> UInt32? {
        guard reply.count >= userPlace + 4, Array(reply[4..<6]) == native(byFamily) else { return nil }
        return unsafe reply.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: userPlace, as: UInt32.self) }
    }

    /// In the byte order of this machine.
    private static func native(_ value: some FixedWidthInteger) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
    }
}
