// Sockets on the listen addresses, and what to say when one can't be had: which address, why, who holds it.

import LinuxIO

struct PortBinding {
    /// As they were bound: where port 0 was asked for, with the port that the kernel chose.
    let addresses: [SocketAddress]
    let datagrams: [[DatagramSocket]]
    let listeners: [Listener]

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
            default: return "\(place): \(error)"
            }
        }
    }

    /// - Parameter addresses: each gets one listener and `threads` datagram sockets.
    init(_ addresses: [SocketAddress], threads: Int) throws(Failure) {
        var listeners: [Listener] = []
        var datagrams = [[DatagramSocket]](repeating: [], count: threads)
        var bound: [SocketAddress] = []
        for wanted in addresses {
            // A listener does not share its port, so it finds other daemons that sockets with SO_REUSEPORT would join.
            let (listener, address) = try PortBinding.bind(wanted, .tcp) { wanted throws(SystemError) in
                let listener = try Listener(on: wanted)
                return (listener, try listener.localAddress())
            }
            listeners.append(listener)
            bound.append(address)
            for thread in 0..<threads {
                let socket = try PortBinding.bind(address, .udp) { address throws(SystemError) in
                    try DatagramSocket(serving: address)
                }
                datagrams[thread].append(socket)
            }
        }
        self.addresses = bound
        self.listeners = listeners
        self.datagrams = datagrams
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
