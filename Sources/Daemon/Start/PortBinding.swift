// Sockets on the listen addresses, and the message for an address that cannot be bound: the address, the reason, the
// process that holds it.

import DNSWire
import LinuxIO
import Serving
import Settings

/// The sockets of one address that the former process left.
struct ReusedSockets {
    var listener: Listener?
    var datagrams: [DatagramSocket] = []

    var hasSockets: Bool { listener != nil || !datagrams.isEmpty }
}

struct PortBinding {
    /// The bound addresses: the port that the kernel chose replaces port 0.
    let addresses: [SocketAddress]
    /// The datagram sockets: one array per thread, with one socket or more per address.
    let datagrams: [[DatagramSocket]]
    let listeners: [StreamListener]
    /// Failures to bind addresses that this machine does not have: loopback addresses, or those of a family.
    let leftOut: [Failure]
    /// The sockets were passed in by the service manager, instead of the addresses of the settings and the command
    /// line.
    let areHandedOver: Bool

    /// The former process has left some of the sockets, and queries in them.
    let areReused: Bool

    struct Failure: Error, CustomStringConvertible {
        /// "127.0.0.1:53 (udp)"
        let place: String
        let error: SystemError
        let holder: String?

        var description: String {
            let place = "cannot listen on \(place)"
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

    /// All bound places, as operators see them.
    var places: [String] { addresses.map(\.description) }

    /// - Parameters:
    ///   - places: each address gets one listener and `threads` datagram sockets, all on one port.
    ///     A loopback address that the machine does not have is left out if another place can be bound: the defaults
    ///     name both families, and many machines have IPv4 alone. Other addresses are bound before an interface has
    ///     them, because DHCP may come after the start.
    ///   - reused: sockets of the former process for each place; may be shorter than `places`. They stay as they are,
    ///     and threads share out more datagram sockets than threads.
    init(_ places: [ListenPlace], threads: Int, reusing reused: [ReusedSockets] = []) throws(Failure) {
        var addresses: [SocketAddress] = []
        var listeners: [StreamListener] = []
        var sockets: [[DatagramSocket]] = []
        var leftOut: [Failure] = []
        for (number, place) in places.enumerated() {
            let reused = number < reused.count ? reused[number] : ReusedSockets()
            do throws(Failure) {
                switch place {
                case .address(let address):
                    let listener: Listener
                    if let kept = reused.listener {
                        listener = kept
                    } else {
                        listener = try PortBinding.listen(on: address)
                    }
                    addresses.append(try PortBinding.boundAddress(of: listener, at: address))
                    listeners.append(StreamListener(listener))
                }
                sockets.append(reused.datagrams)
            } catch {
                guard error.error.isAddressUnavailable else { throw error }
                leftOut.append(error)
            }
        }
        if listeners.isEmpty, let failure = leftOut.first { throw failure }
        var datagrams = [[DatagramSocket]](repeating: [], count: threads)
        for (address, reused) in zip(addresses, sockets) {
            for number in 0..<max(threads, reused.count) {
                let socket =
                    number < reused.count
                    ? reused[number]
                    : try PortBinding.bind(address, .udp) { address throws(SystemError) in
                        try DatagramSocket(serving: address, mayBeAbsent: !address.address.isLoopback)
                    }
                datagrams[number % threads].append(socket)
            }
        }
        self.addresses = addresses
        self.datagrams = datagrams
        self.listeners = listeners
        self.leftOut = leftOut
        areHandedOver = false
        areReused = reused.contains(where: \.hasSockets)
    }

    /// The descriptors to be left to the next process: none if the service manager has the sockets anyway.
    var descriptorsToKeep: [Int32] {
        areHandedOver ? [] : listeners.map(\.descriptor) + datagrams.joined().map { $0.descriptor.raw }
    }

    /// A listener does not share its port, so it detects other daemons whose sockets SO_REUSEPORT would join.
    private static func listen(on address: SocketAddress) throws(Failure) -> Listener {
        try bind(address, .tcp) { address throws(SystemError) in
            try Listener(on: address, mayBeAbsent: !address.address.isLoopback)
        }
    }

    /// Returns the address with the port that the kernel chose in place of 0.
    private static func boundAddress(of listener: Listener, at address: SocketAddress) throws(Failure) -> SocketAddress
    {
        try bind(address, .tcp) { _ throws(SystemError) in try listener.localAddress() }
    }

    private static func bind<Bound>(
        _ address: SocketAddress, _ transport: PortHolder.Transport,
        _ make: (SocketAddress) throws(SystemError) -> Bound
    ) throws(Failure) -> Bound {
        do throws(SystemError) {
            return try make(address)
        } catch {
            let holder = error.isAddressInUse ? PortHolder.describe(address, transport) : nil
            throw Failure(place: "\(address) (\(transport))", error: error, holder: holder)
        }
    }
}
