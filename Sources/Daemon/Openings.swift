// What may take more rights than serving does: the ports, and the listener of the status page. Opened before everything
// else, so that rights can be given up in between; it starts no thread and reads nothing that others have sent.

import LinuxIO
import Settings

struct Openings {
    let ports: PortBinding
    /// Nil: the settings want none.
    let pages: Listener?
    /// How many shall serve.
    let threads: Int

    /// - Throws: `StartFailure` with a text for the operator.
    ///
    /// - Parameter inherited: take the place of the addresses of settings and command line, if there are any.
    init(_ settings: Settings, _ options: Options, _ inherited: InheritedSockets) throws(StartFailure) {
        threads = settings.server.threads == 0 ? Machine.coreCount : settings.server.threads
        ports =
            inherited.isEmpty
            ? try Openings.bind(settings, options, threads: threads) : try PortBinding(inherited, threads: threads)
        pages = try settings.control.metricsListen.map(Openings.openPages)
    }

    private static func bind(
        _ settings: Settings, _ options: Options, threads: Int
    ) throws(StartFailure) -> PortBinding {
        let isDefault = options.listen.isEmpty && settings.server.listen == Settings.defaults.server.listen
        let addresses = options.listen.isEmpty ? settings.server.listen.map(SocketAddress.init) : options.listen
        do throws(PortBinding.Failure) {
            return try PortBinding(addresses, threads: threads, mayLackSome: isDefault)
        } catch {
            throw StartFailure(error)
        }
    }

    private static func openPages(on endpoint: Settings.Endpoint) throws(StartFailure) -> Listener {
        let address = SocketAddress(endpoint)
        do throws(SystemError) {
            return try Listener(on: address)
        } catch {
            throw StartFailure(metrics: address, error)
        }
    }
}
