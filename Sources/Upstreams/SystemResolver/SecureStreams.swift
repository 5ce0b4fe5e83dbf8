// The DNS-over-TLS connections of all nameservers, one per server as a rule, and their counters. A connection stays
// open until the server closes it or the network changes. Queries that a closed connection left without an answer are
// repeated on another one (RFC 7858 section 3.4).

import Crypto
import DNSWire
import HTTPClient
import LinuxIO
import Resolver

final class SecureStreams {
    private let timer: PartTimer
    private let loop: EventLoop
    /// Reports a message from the server, or a failure, to one exchange of a lookup.
    private let deliver: (UInt64, NameserverLookup.Event) -> Void
    /// The servers in the order in which they were first asked.
    private var servers: [Server] = []
    private var contexts: [String?: TLSContext] = [:]
    private var failures: [(server: Nameserver, reason: String)] = []

    private final class Server {
        let address: Nameserver
        var streams: [SecureStream] = []
        /// Queries that are not sent yet: all connections have their quota.
        var waiting: [SecureStream.Query] = []
        /// Most queries per connection, as the server closed one after so many answers while it owed others. More would
        /// be lost, and a close with unread queries may even destroy an answer on its way. Nil: no bound.
        var quota: (queries: Int, until: Instant)?
        var maxStreams = SecureStreams.maxStreams
        /// How often since the last answer no connection was left, as the server closed each without an answer.
        var emptyRounds = 0
        /// The server has answered a query since the quota was last unknown.
        var hasAnswered = false
        var counts = ConnectionCounts()

        init(_ address: Nameserver) { self.address = address }

        func hasRoom(_ stream: SecureStream) -> Bool { quota.map { stream.carried < $0.queries } ?? true }
    }

    /// Bound on connections to a server that closes them after some answers; other servers have one connection. A
    /// server that closes one without an answer gets fewer.
    private static let maxStreams = 8
    /// How long a quota applies. A server may close more connections at a restart, or treat a second one differently.
    private static let quotaDuration: Duration = .seconds(60)
    /// Bound on connections that end because of the same query.
    private static let maxTries = 8
    /// Rounds of connections without an answer, after which the queries fail. A server that has answered limits the
    /// connections, and may still count one that has ended.
    private static let maxEmptyRounds = (silent: 3, answering: 8)

    /// - Parameter timer: the owner's.
    init(_ loop: EventLoop, _ timer: PartTimer, deliver: @escaping (UInt64, NameserverLookup.Event) -> Void) {
        (self.loop, self.timer, self.deliver) = (loop, timer, deliver)
    }

    /// Sets the authorities for each `caFile`. Connections to servers that are no longer in use are closed.
    func setServers(_ servers: Set<Nameserver>, _ contexts: [String?: TLSContext]) {
        self.contexts = contexts
        for server in self.servers where !servers.contains(server.address) {
            for stream in server.streams { stream.close() }
        }
        self.servers.removeAll { !servers.contains($0.address) }
    }

    /// - Returns: nil, or why the query cannot be sent.
    func send(_ query: SecureStream.Query, to address: Nameserver) -> FetchFailure? {
        let server = self.server(address) ?? add(address)
        server.waiting.append(query)
        guard let failure = dispatch(server) else { return nil }
        server.waiting.removeLast()
        failWaiting(of: server, with: failure)
        return failure
    }

    private func server(_ address: Nameserver) -> Server? { servers.first { $0.address == address } }

    private func add(_ address: Nameserver) -> Server {
        let server = Server(address)
        servers.append(server)
        return server
    }

    func leave(_ lookup: UInt64, _ exchange: NameserverLookup.ExchangeID? = nil) {
        for server in servers {
            for stream in server.streams { stream.leave(lookup, exchange) }
            if server.waiting.isEmpty { continue }
            server.waiting.removeAll { $0.lookup == lookup && (exchange == nil || $0.exchange == exchange) }
        }
    }

    var nextDeadline: Instant? { servers.lazy.flatMap(\.streams).compactMap(\.deadline).min() }

    func timePassed(now: Instant) {
        for stream in servers.flatMap(\.streams) { stream.timePassed(now: now) }
    }

    /// Closes all connections after a network change. Their queries get no reply; the resolver asks anew.
    func renew() {
        for server in servers {
            for stream in server.streams { stream.close() }
            (server.streams, server.waiting) = ([], [])
            (server.quota, server.maxStreams) = (nil, SecureStreams.maxStreams)
            (server.emptyRounds, server.hasAnswered) = (0, false)
        }
    }

    func connections(to server: Nameserver) -> ConnectionCounts {
        guard let server = self.server(server) else { return ConnectionCounts() }
        var counts = server.counts
        counts.open = server.streams.count
        return counts
    }

    /// Returns why connections failed since the last call.
    func takeFailures() -> [(server: Nameserver, reason: String)] {
        failures.isEmpty ? [] : exchange(&failures, with: [])
    }

    /// Sends the waiting queries, as far as there is room.
    ///
    /// - Returns: why no connection can be opened, and none is open.
    private func dispatch(_ server: Server) -> FetchFailure? {
        if let quota = server.quota, quota.until <= Clock.now() {
            (server.quota, server.maxStreams, server.hasAnswered) = (nil, SecureStreams.maxStreams, false)
        }
        while !server.waiting.isEmpty {
            if let stream = server.streams.first(where: server.hasRoom) {
                server.counts.reused += 1
                stream.send(server.waiting.removeFirst())
                continue
            }
            // The server is about to close the connections that have answered everything.
            for stream in server.streams where stream.isIdle { stream.close() }
            server.streams.removeAll(where: \.isIdle)
            guard server.streams.count < server.maxStreams else { return nil }
            switch open(server) {
            case .success(let stream): stream.send(server.waiting.removeFirst())
            case .failure(let failure): return server.streams.isEmpty ? failure : nil
            }
        }
        return nil
    }

    private func open(_ server: Server) -> Result<SecureStream, FetchFailure> {
        guard let tls = tls(for: server.address), let peer = SocketAddress(withZone: server.address.description)
        else { return .failure(.tls) }
        do throws(SystemError) {
            let stream = try SecureStream(to: peer, through: server.address.interface, tls, loop, timer) {
                [unowned self] in take($1, of: $0, server)
            }
            server.streams.append(stream)
            server.counts.opened += 1
            return .success(stream)
        } catch {
            return .failure(error.isRefused ? .refused : .unreachable)
        }
    }

    private func tls(for server: Nameserver) -> TLSConnection? {
        guard let terms = server.tls, let context = contexts[terms.caFile] else { return nil }
        // SNI has no addresses (RFC 6066 section 3).
        let isAddress = Address(terms.certificateName) != nil
        return try? TLSConnection(
            context, serverName: isAddress ? nil : terms.certificateName, verifiedName: terms.certificateName,
            resuming: nil)
    }

    private func take(_ news: SecureStream.News, of stream: SecureStream, _ server: Server) {
        switch news {
        case .reply(let message, let queries):
            (server.emptyRounds, server.hasAnswered) = (0, true)
            for query in queries { deliver(query.lookup, .received(query.exchange, message)) }
            if let failure = dispatch(server) { failWaiting(of: server, with: failure) }
        case .ended(let end, let reason, let unanswered):
            server.streams.removeAll { $0 === stream }
            switch end {
            case .closed: closed(stream, unanswered, server)
            case .stalled:
                failures.append((server.address, reason))
                let now = Clock.now()
                sendAgain(
                    unanswered.filter { $0.isYoung(now) }.map(\.tried),
                    failing: unanswered.filter { !$0.isYoung(now) }, with: .timeout, server)
            case .failed(let failure):
                failures.append((server.address, reason))
                if server.streams.isEmpty {
                    fail(unanswered, with: failure)
                    failWaiting(of: server, with: failure)
                } else {
                    server.maxStreams = server.streams.count
                    sendAgain(unanswered, with: failure, server)
                }
            }
        }
    }

    /// The server closed a connection. It had read the oldest of the queries at most, or all if it answered none.
    private func closed(_ stream: SecureStream, _ unanswered: [SecureStream.Query], _ server: Server) {
        guard !unanswered.isEmpty else { return }
        server.quota = (max(1, stream.replies), Clock.now() + SecureStreams.quotaDuration)
        guard stream.replies == 0 else {
            return sendAgain(unanswered.prefix(1).map(\.tried) + unanswered.dropFirst(), with: .reset, server)
        }
        server.maxStreams = max(1, server.streams.count)
        if server.streams.isEmpty { server.emptyRounds += 1 }
        let most = SecureStreams.maxEmptyRounds
        if server.streams.isEmpty, server.emptyRounds >= (server.hasAnswered ? most.answering : most.silent) {
            fail(unanswered, with: .reset)
            failWaiting(of: server, with: .reset)
        } else {
            sendAgain(unanswered.map(\.tried), with: .reset, server)
        }
    }

    /// Sends queries on another connection, before queries that have never been sent. Queries without tries left fail.
    private func sendAgain(
        _ queries: [SecureStream.Query], failing lost: [SecureStream.Query] = [], with failure: FetchFailure,
        _ server: Server
    ) {
        let again = queries.filter { $0.tries <= SecureStreams.maxTries }
        server.counts.retried += again.count
        server.waiting = again + server.waiting
        let unsent = dispatch(server)
        fail(lost + queries.filter { $0.tries > SecureStreams.maxTries }, with: failure)
        if let unsent { failWaiting(of: server, with: unsent) }
    }

    private func failWaiting(of server: Server, with failure: FetchFailure) {
        let waiting = exchange(&server.waiting, with: [])
        fail(waiting, with: failure)
    }

    private func fail(_ queries: [SecureStream.Query], with failure: FetchFailure) {
        for query in queries { deliver(query.lookup, .failed(query.exchange, failure)) }
    }
}
