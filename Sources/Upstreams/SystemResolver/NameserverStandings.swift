// Whether each nameserver replies, and whether over TCP only. Decides in which order and how servers are asked, and
// when one that failed is tested together with a client's question.

import DNSWire
package import Resolver

/// States of a server without TLS; a server with TLS has only the first two:
///
///     replies --no reply, but one of another server--> silent --a reply--> replies
///        `-- silent over UDP, a reply over TCP --> TCP only --a reply over UDP--> replies
package struct NameserverStandings: Sendable {
    package enum News: Equatable, Sendable {
        /// The server is silent: other servers are asked first from now on.
        case silent(Nameserver)
        case replies(Nameserver)
        case onlyStreams(Nameserver)
        case datagramsAgain(Nameserver)
    }

    private struct Standing {
        var isSilent = false
        var isOnlyStreams = false
        var repliedAt: Instant?
        var datagramRepliedAt: Instant?
        var testDue: Instant?
        /// TCP connections that test whether UDP is blocked.
        var trials = TokenBucket()
        /// The position in the order of use, for eviction.
        var use = 0
    }

    private var standings: [Nameserver: Standing] = [:]
    private var uses = 0
    /// The next server to start with, if the options say "rotate".
    private var rotation = 0
    private var news: [News] = []

    /// Interval at which a failed server is tested. Each test costs one more query, and a server that works again is
    /// used after this time at the latest.
    static let testInterval: Duration = .seconds(10)
    /// Maximum number of servers, more than a machine has; the least recently used one is forgotten.
    static let maxServers = 512
    /// Questions per second and server that are repeated over TCP after silence. Names without working servers are
    /// silent over UDP, too, and forwarders accept few connections (dnsmasq: 20).
    static let trialsPerSecond = 16

    /// Takes the changes since the last call.
    mutating func takeNews() -> [News] { exchange(&news, with: []) }

    /// Forgets all servers, as the path to them is another one.
    mutating func reset() { standings = [:] }

    // MARK: decisions

    /// Returns the servers in the order to ask: servers that reply come first.
    mutating func order(_ servers: [Nameserver], _ options: NameserverOptions) -> [Nameserver] {
        var servers = servers
        if options.rotates, !servers.isEmpty {
            rotation = (rotation + 1) % servers.count
            servers = Array(servers[rotation...] + servers[..<rotation])
        }
        let silent = servers.filter(isSilent)
        return silent.isEmpty ? servers : servers.filter { !isSilent($0) } + silent
    }

    /// Returns the servers to test with a question of a client. Each counts as tested until `testInterval` has passed.
    mutating func takeDueTests(of servers: [Nameserver], now: Instant) -> [Nameserver] {
        servers.filter { server in
            guard let due = standings[server]?.testDue, due <= now else { return false }
            standings[server]?.testDue = now + NameserverStandings.testInterval
            return true
        }
    }

    func usesOnlyStreams(_ server: Nameserver) -> Bool {
        server.tls != nil || standings[server]?.isOnlyStreams ?? false
    }

    /// Returns whether a question without a reply over UDP is asked over TCP, too. This is the case if no reply has
    /// come over UDP since: otherwise the name is slow, not the server.
    mutating func takeStreamTrial(_ server: Nameserver, askedAt: Instant, now: Instant) -> Bool {
        guard !hasReplied(over: \.datagramRepliedAt, server, since: askedAt) else { return false }
        let wait = standings[server]?.trials.readyAt(perSecond: NameserverStandings.trialsPerSecond, now: now)
        if let wait, wait > now { return false }
        change(server) { _ = $0.trials.spend(perSecond: NameserverStandings.trialsPerSecond, now: now) }
        return true
    }

    private func isSilent(_ server: Nameserver) -> Bool { standings[server]?.isSilent ?? false }

    private func hasReplied(
        over way: KeyPath<Standing, Instant?>, _ server: Nameserver, since askedAt: Instant
    ) -> Bool {
        standings[server]?[keyPath: way].map { $0 >= askedAt } ?? false
    }

    // MARK: experience

    /// Records a reply, whatever its content.
    ///
    /// - Parameter silentSince: when a query to the server was sent over UDP that has no reply; nil: there is none.
    mutating func replied(_ server: Nameserver, overStream isStream: Bool, silentSince: Instant?, now: Instant) {
        let isBlocked =
            isStream && server.tls == nil
            && silentSince.map { !hasReplied(over: \.datagramRepliedAt, server, since: $0) } ?? false
        let former = standings[server] ?? Standing()
        change(server) { standing in
            standing.repliedAt = now
            standing.isSilent = false
            if isStream {
                standing.isOnlyStreams = standing.isOnlyStreams || isBlocked
            } else {
                standing.datagramRepliedAt = now
                standing.isOnlyStreams = false
            }
            if !standing.isOnlyStreams {
                standing.testDue = nil
            } else if !former.isOnlyStreams {
                standing.testDue = now + NameserverStandings.testInterval
            }
        }
        let isOnlyStreams = usesOnlyStreams(server)
        if former.isSilent { news.append(.replies(server)) }
        if isOnlyStreams, !former.isOnlyStreams, server.tls == nil { news.append(.onlyStreams(server)) }
        if !isOnlyStreams, former.isOnlyStreams { news.append(.datagramsAgain(server)) }
    }

    /// Records that a question waited in vain or could not be asked, and that another server has replied to it.
    mutating func failed(_ server: Nameserver, overStream isStream: Bool, askedAt: Instant, now: Instant) {
        // Replies to other questions show that the server works, and silence over UDP shows that it works over TCP
        // only.
        guard !isSilent(server), !hasReplied(over: \.repliedAt, server, since: askedAt),
            isStream || !usesOnlyStreams(server)
        else { return }
        change(server) {
            $0.isSilent = true
            $0.testDue = now + NameserverStandings.testInterval
        }
        news.append(.silent(server))
    }

    private mutating func change(_ server: Nameserver, _ body: (inout Standing) -> Void) {
        if standings[server] == nil, standings.count >= NameserverStandings.maxServers,
            let oldest = standings.min(by: { $0.value.use < $1.value.use })
        {
            standings[oldest.key] = nil
        }
        uses += 1
        var standing = standings[server] ?? Standing()
        standing.use = uses
        body(&standing)
        standings[server] = standing
    }
}
