// The HTTP listener of `control.metrics-listen`: accepts connections for the HTTP server and runs it in the event loop
// without blocking.

import DNSWire
import HTTPServer
import LinuxIO

// The daemon accepts connections itself, not libmicrohttpd. So a lack of descriptors pauses the listener, and the
// oldest connection is closed instead of the newest. Pages are built in the event loop and need no locks.
final class MetricsListener: TimedPart {
    let timer = PartTimer()

    /// Connections accepted per event loop turn, so that a flood of connections can't block the loop.
    private static let maxAccepts = 16

    private let listener: Listener
    private let server: HTTPServer
    private var acceptPause: AcceptPause { didSet { timer.changed() } }
    /// The server's deadline after its last call.
    private var serverDueAt: Instant? { didSet { timer.changed() } }
    private var registration: EventLoop.Registration?
    private let isTrusted: (UInt32) -> Bool

    /// The bound address, with the port chosen by the kernel if the settings say 0.
    let address: SocketAddress

    /// - Parameter isTrusted: whether a user may run every command; others never displace its connections.
    init(
        _ listener: Listener, loop: EventLoop, isTrusted: @escaping (UInt32) -> Bool,
        answer: @escaping (PageRequest) -> PageReply
    ) throws(StartFailure) {
        do {
            self.listener = listener
            address = try listener.localAddress()
            server = try HTTPServer(answer: answer)
            self.isTrusted = isTrusted
            acceptPause = AcceptPause(loop)
            registration = try loop.watch(server.descriptor, for: .readable) { [unowned self] _ in
                run(now: Clock.now())
            }
            acceptPause.add(try loop.watch(listener.descriptor.raw, for: .readable) { [unowned self] _ in accept() })
        } catch {
            throw StartFailure(pages: error)
        }
    }

    /// Requests that were answered, and connections that were closed because of their number or duration.
    var counts: (requests: Int, cut: Int) { (server.requests, server.cut) }

    var nextDeadline: Instant? { Instant.earliest(serverDueAt, acceptPause.until) }

    func timePassed(now: Instant) {
        acceptPause.timePassed(now: now)
        if let serverDueAt, serverDueAt <= now { run(now: now) }
    }

    private func run(now: Instant) {
        server.run(now: now)
        serverDueAt = server.nextDeadline(now: now)
    }

    private func accept() {
        for _ in 0..<MetricsListener.maxAccepts {
            let now = Clock.now()
            do throws(SystemError) {
                guard let accepted = try listener.accept() else { return }
                let client = client(accepted.socket, accepted.peer)
                server.add(accepted.socket.descriptor.raw, from: client, now: now)
                serverDueAt = server.nextDeadline(now: now)
            } catch {
                // Other errors concern only the pending connection, which the client has closed.
                guard !error.isExhaustion else { return acceptPause.begin(now: now) }
            }
        }
    }

    private func client(_ socket: StreamSocket, _ peer: SocketAddress) -> PageClient {
        let local = peer.address.isLoopback ? try? socket.localAddress() : nil
        let userID = local.flatMap { SocketOwner.userID(of: peer, connectedTo: $0) }
        return PageClient(peer.address, userID: userID, isTrusted: userID.map(isTrusted) ?? false)
    }
}
