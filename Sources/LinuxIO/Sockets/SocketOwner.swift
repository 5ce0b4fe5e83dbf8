// The user of a TCP connection's other end, if that is on this machine: the kernel's socket diagnosis (sock_diag(7))
// finds one socket by its addresses, whatever the number of sockets.

import CLinux
package import DNSWire
import Glibc

package enum SocketOwner {
    // Constants of <linux/sock_diag.h> and <linux/inet_diag.h>.
    private static let socketDiagnosis: Int32 = 4
    private static let byFamily = 20
    /// Place of the user in the reply's payload: after four bytes, the addresses, and three counters.
    private static let userPlace = 4 + 48 + 12
    /// Size of a message with all its attributes; none of them is requested.
    private static let maxReplyBytes: Int32 = 512

    /// Returns the user of the socket at `peer` that is connected to `local`; nil if `peer` is on another machine, or
    /// if the kernel does not tell.
    package static func userID(of peer: SocketAddress, connectedTo local: SocketAddress) -> UInt32? {
        var userID: UInt32?
        do throws(SystemError) {
            let socket = try NetlinkSocket(
                subsystem: socketDiagnosis, groups: [], receiveBufferBytes: maxReplyBytes)
            try socket.send(request(peer, local))
            // The kernel has answered when `send` returns.
            _ = try socket.receive { userID = SocketOwner.userID(in: $0) }
        } catch {
            return nil
        }
        return userID
    }

    private static func request(_ peer: SocketAddress, _ local: SocketAddress) -> [UInt8] {
        let (source, target) = (peer.address.mapped ?? peer.address, local.address.mapped ?? local.address)
        let family = UInt8(source.isIPv6 ? AF_INET6 : AF_INET)
        let padded = { (address: Address) in
            Array(address.bytes) + [UInt8](repeating: 0, count: 16 - address.bytes.count)
        }
        let (anyState, anyInterface, noCookie) = (UInt32.max, UInt32.zero, UInt64.max)
        var writer = NetlinkWriter()
        writer.message(byFamily, flags: NLM_F_REQUEST, sequence: 0) { writer in
            writer.append([family, UInt8(IPPROTO_TCP), 0, 0])
            writer.append(anyState)
            writer.append((UInt32(peer.port) << 16 | UInt32(local.port)).bigEndian)
            for address in [source, target] { writer.append(padded(address)) }
            writer.append(anyInterface)
            writer.append(noCookie)
        }
        return writer.bytes
    }

    private static func userID(in reply: Span<UInt8>) -> UInt32? {
        var messages = NetlinkMessages()
        guard let message = messages.next(in: reply), message.type == byFamily else { return nil }
        return reply.load(UInt32.self, in: message.payload.dropFirst(userPlace))
    }
}
