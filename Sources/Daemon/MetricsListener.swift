// The HTTP listener of `control.metrics-listen`: accepts connections and hands them to the HTTP server, whose turns it
// takes in the daemon's loop. It must never hold up the loop, and decides nothing of what is served.

import HTTPServer
import LinuxIO

final class MetricsListener {
    /// Connections taken at once, so that somebody who makes them without end does not hold up the loop.
    private static let maxAccepts = 16

    private let listener: Listener
    private let server: HTTPServer
    private var acceptPause: AcceptPause
    private var registration: EventLoop.Registration?
    private let loop: EventLoop

    /// As bound: the kernel's choice in the place of port 0.
    let address: SocketAddress

    init(
        _ listener: Listener, loop: EventLoop, answer: @escaping (PageRequest) -> PageReply
    ) throws(StartFailure) {
        do {
            self.listener = listener
            address = try listener.localAddress()
            server = try HTTPServer(answer: answer)
            self.loop = loop
            acceptPause = AcceptPause(loop)
            registration = try loop.watch(server.descriptor, for: .readable) { [unowned self] _ in
                server.run(now: Clock.now())
            }
            acceptPause.add(try loop.watch(listener.descriptor.raw, for: .readable) { [unowned self] _ in accept() })
        } catch {
            throw StartFailure(pages: error)
        }
    }

    /// Requests that were answered, and connections that were cut: too many, or for too long.
    var counts: (requests: Int, cut: Int) { (server.requests, server.cut) }

    func nextDeadline(now: Instant) -> Instant? {
        [server.nextDeadline(now: now), acceptPause.until].compactMap { $0 }.min()
    }

    func timePassed(now: Instant) {
        acceptPause.timePassed(now: now)
        if let deadline = server.nextDeadline(now: now), deadline <= now { server.run(now: now) }
    }

    private func accept() {
        for _ in 0..<MetricsListener.maxAccepts {
            let now = Clock.now()
            do throws(SystemError) {
                guard let accepted = try listener.accept() else { return }
                server.add(accepted.socket.descriptor.raw, from: accepted.peer.ipBytes, now: now)
            } catch {
                // Other errors are about the connection that was being accepted; its client is gone.
                guard !error.isExhaustion else { return acceptPause.begin(now: now) }
            }
        }
    }
}
