// Where operators ask: the control socket, and the HTTP listener of metrics and status page. Their commands that take a
// while belong to it.

import Control
import DNSWire
import LinuxIO
import Serving
import Settings

final class Operators {
    let pending: PendingCommands
    let topTexts = KeptReplies<Bool, String>()
    private(set) var pages: MetricsListener?
    private var control: ControlServer?
    /// The samples for the status page; nil: there is no HTTP listener.
    private(set) var sampler: StatisticsSampler?

    init(_ resolving: ResolvingLoop, _ cache: AnswerCache) { pending = PendingCommands(resolving, cache) }

    var timedParts: [any TimedPart] {
        let listeners: [(any TimedPart)?] = [control, pages, sampler]
        return pending.timedParts + listeners.compactMap { $0 }
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
        _ listener: Listener, _ loop: EventLoop, _ outbox: Outbox, _ statistics: @escaping (Instant) -> Statistics
    ) throws(StartFailure) {
        let sampler = StatisticsSampler(outbox)
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
