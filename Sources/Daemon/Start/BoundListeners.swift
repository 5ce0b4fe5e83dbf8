// Binds the DNS ports and the metrics listener, which may need more privileges than serving. Runs before everything
// else, so that privileges can be dropped afterwards. Starts no thread and reads no network data.

import DNSWire
import LinuxIO
import Settings

struct BoundListeners {
    let ports: PortBinding
    /// Listener of metrics and status page; nil if not configured.
    let pages: Listener?
    /// Number of serving threads.
    let threads: Int

    /// - Parameter inherited: sockets from the service manager; if there are any, they replace the configured
    ///   addresses.
    /// - Throws: `StartFailure` with a message for the operator.
    init(_ settings: Settings, _ options: Options, _ inherited: InheritedSockets) throws(StartFailure) {
        threads = settings.server.threads == 0 ? Machine.coreCount : settings.server.threads
        ports =
            inherited.isEmpty
            ? try BoundListeners.bind(settings, options, threads: threads)
            : try PortBinding(inherited, threads: threads)
        pages = try settings.control.metricsListen.map(BoundListeners.openPages)
    }

    private static func bind(
        _ settings: Settings, _ options: Options, threads: Int
    ) throws(StartFailure) -> PortBinding {
        do throws(PortBinding.Failure) {
            return try PortBinding(options.listenPlaces(settings), threads: threads)
        } catch {
            throw StartFailure(error)
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
