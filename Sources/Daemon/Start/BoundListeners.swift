// Binds the DNS ports and the metrics listener, which may need more privileges than serving. Runs before everything
// else, so that privileges can be dropped afterwards. Starts no thread and reads no network data.

import DNSWire
import LinuxIO
import Serving
import Settings

struct BoundListeners {
    let ports: PortBinding
    /// Clients' connections that the former process left.
    let connections: [(peer: SocketAddress, socket: StreamSocket)]
    /// Listener of metrics and status page; nil if not configured.
    let pages: Listener?
    /// Number of serving threads.
    let threads: Int
    /// What became of the former process's sockets; nil if it left none. To be logged when privileges are dropped: the
    /// log has a thread.
    let news: LogEvent?

    /// How long the service manager may take to close sockets that it was told to forget.
    private static let closingPatience: Duration = .seconds(1)
    private static let retryPause: Duration = .milliseconds(5)

    /// - Parameters:
    ///   - inherited: sockets from the service manager. If .socket units passed some, these replace the configured
    ///     addresses; else those that the former process left serve them.
    ///   - notice: the service manager is told to close the kept sockets that are not used.
    /// - Throws: `StartFailure` with a message for the operator.
    init(
        _ settings: Settings, _ options: Options, _ inherited: inout InheritedSockets, _ notice: ServiceNotice?
    ) throws(StartFailure) {
        threads = settings.server.threads == 0 ? Machine.coreCount : settings.server.threads
        var kept = inherited.takeKept()
        connections = kept.takeConnections()
        let places = inherited.isEmpty ? options.listenPlaces(settings) : []
        let reuse = SocketReuse(
            places.addresses, listeners: kept.listeners.map(\.address), datagrams: kept.datagrams.map(\.address))
        var reused = reuse.places.map { place in
            ReusedSockets(
                listener: place.listener.map { kept.listeners[$0].listener },
                datagrams: place.datagrams.map { kept.datagrams[$0].socket })
        }
        news =
            kept.isEmpty && connections.isEmpty
            ? nil
            : .socketsKept(
                addresses: reuse.reused, connections: connections.count, closed: reuse.unused,
                unusable: kept.unusableCount)
        let isClosing = !reuse.unused.isEmpty || kept.unusableCount > 0
        if isClosing { notice?.tell(.forget(.bound)) }
        kept.dropBound()
        if inherited.isEmpty {
            let end = Clock.now() + (isClosing ? BoundListeners.closingPatience : .zero)
            ports = try BoundListeners.bind(places, threads: threads, reusing: &reused, notice, until: end)
        } else {
            ports = try PortBinding(inherited, threads: threads)
        }
        pages = try settings.control.metricsListen.map(BoundListeners.openPages)
    }

    /// - Parameter end: until then, an address in use may be one that the service manager is closing.
    private static func bind(
        _ places: [ListenPlace], threads: Int, reusing reused: inout [ReusedSockets], _ notice: ServiceNotice?,
        until end: Instant
    ) throws(StartFailure) -> PortBinding {
        var end = end
        while true {
            do throws(PortBinding.Failure) {
                return try PortBinding(places, threads: threads, reusing: reused)
            } catch {
                guard error.error.isAddressInUse else { throw StartFailure(error) }
                if reused.contains(where: \.hasSockets) {
                    // Sockets of another user let this one bind no more beside them (SO_REUSEPORT, socket(7)).
                    reused = []
                    notice?.tell(.forget(.bound))
                    end = Clock.now() + closingPatience
                }
                guard Clock.now() < end else { throw StartFailure(error) }
                try? EventLoop().turn(until: Clock.now() + retryPause)
            }
        }
    }

    private static func openPages(on address: SocketAddress) throws(StartFailure) -> Listener {
        do throws(SystemError) {
            return try Listener(on: address)
        } catch {
            throw StartFailure(metrics: address, error)
        }
    }
}
