// Sockets passed by the service manager (sd_listen_fds(3)): those of .socket units, which let an unprivileged process
// serve port 53, and those that the former process left in the manager's store. Sockets of other kinds are reported and
// closed.

package import DNSWire
import Glibc

package struct InheritedSockets {
    package private(set) var datagrams: [(address: SocketAddress, socket: DatagramSocket)] = []
    package private(set) var listeners: [(address: SocketAddress, listener: Listener)] = []
    /// Unusable descriptors with the reason and a remedy: "descriptor 5 (dns.socket) is a UNIX socket; take it out of
    /// the unit".
    package private(set) var unusable: [String] = []
    private var kept = KeptSockets()

    /// First inherited descriptor (SD_LISTEN_FDS_START).
    package static let first: Int32 = 3
    /// Bound on inherited sockets: 128 of .socket units, two transports on the maximum number of listen addresses, and
    /// 1,024 of the store (FileDescriptorStoreMax= of the unit).
    private static let maxCount: Int32 = 128 + 1_024

    /// True if no sockets of .socket units were passed.
    package var isEmpty: Bool { datagrams.isEmpty && listeners.isEmpty && unusable.isEmpty }

    /// Takes over the inherited sockets. Call it once, before other threads exist: a second owner would close them
    /// twice.
    ///
    /// - Parameter take: returns a variable of the environment and removes it.
    package init(first: Int32 = InheritedSockets.first, _ take: (String) -> String? = Environment.take) {
        let (process, number, names) = (take("LISTEN_PID"), take("LISTEN_FDS"), take("LISTEN_FDNAMES"))
        guard process.flatMap({ Int32($0) }) == getpid(), let count = number.flatMap({ Int32($0) }), count > 0 else {
            return
        }
        let words = (names ?? "").split(separator: ":", omittingEmptySubsequences: false)
        for place in 0..<min(count, InheritedSockets.maxCount) {
            let descriptor = first + place
            let name = Int(place) < words.count && !words[Int(place)].isEmpty ? " (\(words[Int(place)]))" : ""
            guard fcntl(descriptor, F_GETFD) >= 0 else {
                unusable.append("descriptor \(descriptor)\(name) is not open; LISTEN_FDS says \(count)")
                continue
            }
            if Int(place) < words.count, let kind = KeptKind(rawValue: String(words[Int(place)])) {
                kept.take(FileDescriptor(owning: descriptor), kind)
            } else {
                receive(FileDescriptor(owning: descriptor), called: "descriptor \(descriptor)\(name)")
            }
        }
        if count > InheritedSockets.maxCount {
            unusable.append("\(count) sockets are too many; at most \(InheritedSockets.maxCount) are used")
        }
    }

    /// Hands out the sockets of the store.
    package mutating func takeKept() -> KeptSockets {
        defer { kept = KeptSockets() }
        return kept
    }

    private mutating func receive(_ descriptor: consuming FileDescriptor, called name: String) {
        let remedy = "take it out of the .socket unit"
        do throws(SystemError) {
            let family = try descriptor.option(SOL_SOCKET, SO_DOMAIN)
            guard family == AF_INET || family == AF_INET6 else {
                let kind = family == AF_UNIX ? "a UNIX socket" : "a socket of family \(family)"
                return unusable.append("\(name) is \(kind); \(remedy)")
            }
            let type = try descriptor.option(SOL_SOCKET, SO_TYPE)
            let address = try descriptor.localAddress()
            if address.isIPv6, address.isWildcard, try descriptor.option(Int32(IPPROTO_IPV6), IPV6_V6ONLY) == 0 {
                return unusable.append(
                    "\(name) takes IPv4 at \(address); add BindIPv6Only=ipv6-only to the .socket unit"
                )
            }
            switch UInt32(bitPattern: type) {
            case SOCK_DGRAM.rawValue:
                datagrams.append((address, try DatagramSocket(inherited: descriptor, at: address)))
            case SOCK_STREAM.rawValue where try descriptor.option(SOL_SOCKET, SO_ACCEPTCONN) == 1:
                listeners.append((address, try Listener(inherited: descriptor)))
            case SOCK_STREAM.rawValue:
                unusable.append("\(name) is a connection and does not listen; set Accept=no in the .socket unit")
            default: unusable.append("\(name) is a socket of type \(type); \(remedy)")
            }
        } catch {
            unusable.append("\(name) can't be used as a socket (\(error)); \(remedy)")
        }
    }
}
