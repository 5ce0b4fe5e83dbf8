// Drives a client with poll(2), as the daemon's loop does, until a condition holds or the patience ends.

import DNSWire
import Glibc
import HTTPClient
import LinuxIO
import Testing

final class PollLoop {
    /// The longest wait, which only a failing test reaches.
    static let patience = Duration.seconds(20)
    /// Bounds a wait for an event of a server's thread, which does not wake this loop.
    static let longestWaitMilliseconds = 10

    /// Behaves as epoll does: it watches the socket that a number stood for, not the number.
    private final class Watched {
        private(set) var interest: [Int32: SocketInterest] = [:]
        private var sockets: [Int32: ino_t] = [:]

        func set(_ descriptor: Int32, _ wants: SocketInterest) {
            interest[descriptor] = wants == .none ? nil : wants
            sockets[descriptor] = wants == .none ? nil : sockets[descriptor] ?? Sockets.identity(descriptor)
        }

        func checkIdentities() {
            for (descriptor, socket) in sockets where Sockets.identity(descriptor) != socket {
                Issue.record("watched for a socket that is gone: \(descriptor)")
            }
        }
    }

    private let watched = Watched()
    let client: HTTPClient
    private(set) var results: [TransferID: Result<TransferReply, TransferFailure>] = [:]

    /// The endpoints that answered the ended transfers.
    private(set) var answeredAt: [TransferID: HTTPEndpoint] = [:]
    private(set) var reached: [TransferID: [HTTPEndpoint]] = [:]

    /// The lead of the client's clock over the real time.
    private var ahead = Duration.zero
    /// The number of times that a socket was readable.
    private(set) var readings = 0

    init() {
        #expect(Process.isPrepared)
        let watched = watched
        client = HTTPClient { watched.set($0, $1) }
    }

    var now: Instant { Clock.now().advanced(by: ahead) }

    /// Moves the client's clock forward.
    func skip(_ time: Duration) {
        ahead += time
        client.timePassed(now: now)
        collect()
    }

    var watchedDescriptors: Int { watched.interest.count }

    var sentSegments: Int { watched.interest.keys.reduce(0) { $0 + Sockets.sentSegments($1) } }

    /// Whether the other ends have acknowledged all sent bytes.
    var isAcknowledged: Bool { watched.interest.keys.allSatisfy { Sockets.unacknowledgedBytes($0) == 0 } }

    func start(_ request: TransferRequest) -> TransferID {
        let id = client.start(request, now: now)
        collect()
        return id
    }

    func result(of request: TransferRequest) -> Result<TransferReply, TransferFailure>? {
        let id = start(request)
        run { self.results[id] != nil }
        return results[id]
    }

    /// The reply; if the transfer failed, it records an issue and returns nil.
    func reply(to request: TransferRequest, at location: SourceLocation = #_sourceLocation) -> TransferReply? {
        switch result(of: request) {
        case .success(let reply): return reply
        case .failure(let failure): Issue.record("failed: \(failure)", sourceLocation: location)
        case nil: break
        }
        return nil
    }

    func failure(of request: TransferRequest, at location: SourceLocation = #_sourceLocation) -> TransferFailure? {
        switch result(of: request) {
        case .success(let reply): Issue.record("came with status \(reply.status)", sourceLocation: location)
        case .failure(let failure): return failure
        case nil: break
        }
        return nil
    }

    /// The reply of an ended transfer.
    func reply(_ id: TransferID) -> TransferReply? { try? results[id]?.get() }

    /// The failure of an ended transfer.
    func failure(_ id: TransferID) -> TransferFailure? {
        guard case .failure(let failure) = results[id] else { return nil }
        return failure
    }

    func run(until isDone: () -> Bool) {
        let end = Clock.now().advanced(by: PollLoop.patience)
        while !isDone() {
            guard Clock.now() < end else {
                Issue.record("nothing came in \(PollLoop.patience)")
                return
            }
            turn()
        }
    }

    func collect() {
        watched.checkIdentities()
        for ended in client.takeFinished() {
            #expect(results[ended.id] == nil, "a transfer ended twice")
            results[ended.id] = ended.result
            answeredAt[ended.id] = ended.endpoint
            reached[ended.id] = ended.reached
        }
    }

    private func turn() {
        let wait = client.nextDeadline.map { now.duration(to: $0) } ?? .seconds(1)
        let milliseconds = wait.wholeMilliseconds + 1
        let bounded = Int32(max(0, min(milliseconds, PollLoop.longestWaitMilliseconds)))
        var polled = watched.interest.map { descriptor, wants in
            let events = (wants == .write ? 0 : POLLIN) | (wants == .read ? 0 : POLLOUT)
            return pollfd(fd: descriptor, events: Int16(events), revents: 0)
        }
        _ = unsafe poll(&polled, nfds_t(polled.count), bounded)
        for entry in polled where entry.revents != 0 {
            if Int32(entry.revents) & POLLIN != 0 { readings += 1 }
            client.socketReady(entry.fd, now: now)
        }
        client.timePassed(now: now)
        collect()
    }
}

enum Process {
    /// Prepares the process for servers that write to connections which the client has closed.
    static let isPrepared: Bool = {
        signal(SIGPIPE, SIG_IGN)
        return true
    }()
}

extension TransferReply {
    /// Returns the first header of that name, case-insensitively.
    func header(_ name: String) -> String? {
        headers[name]
    }
}

extension TransferRequest {
    /// Returns the request with other properties.
    func with(
        _ message: HTTPRequest? = nil, endpoint: HTTPEndpoint? = nil, connectTimeout: Duration? = nil,
        needsOwnConnection: Bool? = nil, subject: Name? = nil, wantsCertificate: Bool? = nil
    ) -> TransferRequest {
        TransferRequest(
            message ?? self.message, to: endpoint ?? self.endpoint, timeout: timeout,
            connectTimeout: connectTimeout ?? self.connectTimeout,
            needsOwnConnection: needsOwnConnection ?? self.needsOwnConnection, stallTimeout: stallTimeout,
            silenceTimeout: silenceTimeout, deadPathTimeout: deadPathTimeout, unacknowledgedAfter: unacknowledgedAfter,
            subject: subject.map { name in { @Sendable in name } } ?? self.subject, number: number,
            elsewhere: elsewhere, wantsCertificate: wantsCertificate ?? self.wantsCertificate)
    }
}
