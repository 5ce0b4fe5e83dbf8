// Sockets on the listen addresses, and the message for an address that cannot be bound: the address, the reason, the
// process that holds it.

import DNSWire
import LinuxIO
import Serving

struct PortBinding {
    /// The bound addresses: the port that the kernel chose replaces port 0.
    let addresses: [SocketAddress]
    /// The datagram sockets: one array per thread, with one socket per address.
    let datagrams: [[DatagramSocket]]
    let listeners: [StreamListener]
    /// Failures to bind addresses that this machine does not have: loopback addresses, or those of a family.
    let leftOut: [Failure]
    /// The sockets were passed in by the service manager, instead of the addresses of the settings and the command
    /// line.
    let areHandedOver: Bool

    struct Failure: Error, CustomStringConvertible {
        let address: SocketAddress
        let transport: PortHolder.Transport
        let error: SystemError
        let holder: String?

        var description: String {
            let place = "cannot listen on \(address) (\(transport.rawValue))"
            switch error {
            case let error where error.isAddressInUse:
                let who = holder.map { "held by \($0)" } ?? "held by a process that only root can name"
                return "\(place): the port is in use, \(who); stop it, or set server.listen to another address"
            case let error where error.isPermissionDenied:
                return "\(place): not permitted; ports under 1024 need root or CAP_NET_BIND_SERVICE"
            case let error where error.isAddressUnavailable:
                return
                    "\(place): no such address here (\(error)); set server.listen to addresses of this machine"
            default: return "\(place): \(error)"
            }
        }
    }

    /// - Parameters:
    ///   - addresses: each gets one listener and `threads` datagram sockets, all on one port.
    ///     A loopback address that the machine does not have is left out if another one can be bound: the defaults
    ///     name both families, and many machines have IPv4 alone. Other addresses are bound before an interface has
    ///     them, because DHCP may come after the start.
    init(_ addresses: [SocketAddress], threads: Int) throws(Failure) {
        var bound: [SocketAddress] = []
        var listeners: [StreamListener] = []
        var leftOut: [Failure] = []
        for address in addresses {
            do throws(Failure) {
                // A listener does not share its port, so it detects other daemons whose sockets SO_REUSEPORT would
                // join.
                let listener = try PortBinding.bind(address, .tcp) { address throws(SystemError) in
                    try Listener(on: address, mayBeAbsent: !address.address.isLoopback)
                }
                let place = try PortBinding.bind(address, .tcp) { _ throws(SystemError) in
                    try listener.localAddress()
                }
                bound.append(place)
                listeners.append(StreamListener(listener))
            } catch {
                guard error.error.isAddressUnavailable else { throw error }
                leftOut.append(error)
            }
        }
        if bound.isEmpty, let failure = leftOut.first { throw failure }
        var datagrams = [[DatagramSocket]](repeating: [], count: threads)
        for address in bound {
            for thread in 0..<threads {
                let socket = try PortBinding.bind(address, .udp) { address throws(SystemError) in
                    try DatagramSocket(serving: address, mayBeAbsent: !address.address.isLoopback)
                }
                datagrams[thread].append(socket)
            }
        }
        self.addresses = bound
        self.datagrams = datagrams
        self.listeners = listeners
        self.leftOut = leftOut
        areHandedOver = false
    }

    private static func bind<Socket>(
        _ address: SocketAddress, _ transport: PortHolder.Transport,
        _ make: (SocketAddress) throws(SystemError) -> Socket
    ) throws(Failure) -> Socket {
        do throws(SystemError) {
            return try make(address)
        } catch {
            let holder = error.isAddressInUse ? PortHolder.describe(address, transport) : nil
            throw Failure(address: address, transport: transport, error: error, holder: holder)
        }
    }
}
