// Where operators ask: the control socket, and the HTTP listener of metrics and status page.

import Control
import DNSWire
import LinuxIO
import Settings

final class OperatorListeners {
    let topTexts = KeptReplies<Bool, String>()
    private(set) var pages: MetricsListener?
    private var control: ControlServer?
    /// The samples for the status page; nil: there is no HTTP listener.
    private var sampler: StatisticsSampler?

    var timedParts: [any TimedPart] {
        let parts: [(any TimedPart)?] = [control, pages, sampler]
        return parts.compactMap { $0 }
    }

    func openControlSocket(
        at path: String, _ loop: EventLoop, _ answer: @escaping ControlServer.Answer
    ) throws(StartFailure) {
        do throws(SystemError) {
            try Directory.makeParent(of: path)
            control = try ControlServer(
                path: path, loop: loop, isTrusted: ControlCommands.isTrusted, answer: answer)
        } catch {
            throw StartFailure(control: path, error)
        }
    }

    func openPages(
        _ listener: Listener, _ loop: EventLoop, _ statistics: @escaping (Instant) -> Statistics
    ) throws(StartFailure) {
        let sampler = StatisticsSampler(statistics)
        let served = ServedPages(sampler, statistics)
        pages = try MetricsListener(listener, loop: loop, isTrusted: ControlCommands.isTrusted) {
            served.reply(to: $0, now: Clock.now())
        }
        self.sampler = sampler
    }

    func announce(_ settings: Settings.Control, _ outbox: Outbox) {
        guard let address = pages?.address else { return }
        outbox.log(.pagesServed(at: address))
        if settings.metricsListen?.address.isLoopback == false { outbox.log(.pagesOpen(at: address)) }
    }

    func close() { (control, pages, sampler) = (nil, nil, nil) }
}
