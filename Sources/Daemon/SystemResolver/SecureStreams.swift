// The DNS-over-TLS connections of all nameservers, one per server, and their counters. A connection stays open until
// the server closes it or the network changes.

import Crypto
import DNSWire
import HTTPClient
import LinuxIO
import Resolver

final class SecureStreams: LoopPart {
    private let loop: EventLoop
    /// Reports a message from the server, or a failure, to one exchange of a lookup.
    private let deliver: (UInt64, NameserverLookup.Event) -> Void
    private var streams: [Nameserver: SecureStream] = [:]
    private var contexts: [String?: TLSContext] = [:]
    private var counts: [Nameserver: ConnectionCounts] = [:]
    private var failures: [(server: Nameserver, reason: String)] = []

    init(_ loop: EventLoop, deliver: @escaping (UInt64, NameserverLookup.Event) -> Void) {
        (self.loop, self.deliver) = (loop, deliver)
    }

    /// Sets the authorities for each `caFile`. Connections to servers that are no longer in use are closed.
    func setServers(_ servers: Set<Nameserver>, _ contexts: [String?: TLSContext]) {
        self.contexts = contexts
        for (server, stream) in streams where !servers.contains(server) {
            stream.close()
            streams[server] = nil
        }
        counts = counts.filter { servers.contains($0.key) }
    }

    /// - Returns: nil, or why the query cannot be sent.
    func send(_ query: SecureStream.Query, to server: Nameserver) -> FetchFailure? {
        if let stream = streams[server] {
            counts[server, default: ConnectionCounts()].reused += 1
            stream.send(query)
            return nil
        }
        return open(server, for: [query])
    }

    func leave(_ lookup: UInt64, _ exchange: NameserverLookup.ExchangeID? = nil) {
        for stream in streams.values { stream.leave(lookup, exchange) }
    }

    var nextDeadline: Instant? { streams.values.lazy.compactMap(\.deadline).min() }

    func timePassed(now: Instant) {
        for stream in streams.values { stream.timePassed(now: now) }
    }

    /// Closes all connections after a network change. Their queries get no reply; the resolver asks anew.
    func renew() {
        for stream in streams.values { stream.close() }
        streams = [:]
    }

    func connections(to server: Nameserver) -> ConnectionCounts {
        var counts = counts[server] ?? ConnectionCounts()
        counts.open = streams[server] == nil ? 0 : 1
        return counts
    }

    /// Returns why connections failed since the last call.
    func takeFailures() -> [(server: Nameserver, reason: String)] {
        defer { failures = [] }
        return failures
    }

    private func open(_ server: Nameserver, for queries: [SecureStream.Query]) -> FetchFailure? {
        guard let tls = tls(for: server), let peer = SocketAddress(withZone: server.description) else { return .tls }
        let stream: SecureStream
        do throws(SystemError) {
            stream = try SecureStream(to: peer, through: server.interface, tls, loop) { [unowned self] in
                take($1, of: $0, server)
            }
        } catch {
            return error.isRefused ? .refused : .unreachable
        }
        streams[server] = stream
        counts[server, default: ConnectionCounts()].opened += 1
        for query in queries { stream.send(query) }
        return nil
    }

    private func tls(for server: Nameserver) -> TLSConnection? {
        guard let terms = server.tls, let context = contexts[terms.caFile] else { return nil }
        // SNI has no addresses (RFC 6066 section 3).
        let isAddress = Address(terms.certificateName) != nil
        return try? TLSConnection(
            context, serverName: isAddress ? nil : terms.certificateName, verifiedName: terms.certificateName,
            resuming: nil)
    }

    private func take(_ news: SecureStream.News, of stream: SecureStream, _ server: Nameserver) {
        switch news {
        case .reply(let message, let queries):
            for query in queries { deliver(query.lookup, .received(query.exchange, message)) }
        case .ended(let failure, let reason, let failed, let repeated):
            if streams[server] === stream { streams[server] = nil }
            if failure != .reset { failures.append((server, reason)) }
            counts[server, default: ConnectionCounts()].retried += repeated.count
            let unsent = repeated.isEmpty ? nil : open(server, for: repeated)
            for query in failed { deliver(query.lookup, .failed(query.exchange, failure)) }
            guard let unsent else { return }
            for query in repeated { deliver(query.lookup, .failed(query.exchange, unsent)) }
        }
    }
}
