// The operator's nameservers at run time: their fetches, counters and measurements. Each is asked for the names of its
// rules alone, by the system resolver's client.

package import DNSWire
import HTTPClient
package import LinuxIO
package import Resolver
package import Settings
import Telemetry

/// A class, so that no fetch copies it. Its owner is `NamedServers`.
package final class NamedServer {
    package let id: NameserverID
    package fileprivate(set) var settings: Settings.Nameserver
    package let servers: [Nameserver]
    /// Name of the link that announces the servers; nil for servers of the settings.
    package let link: String?
    fileprivate(set) var requests: UInt64 = 0
    fileprivate(set) var answered: UInt64 = 0
    fileprivate(set) var failures: [FetchFailure: UInt64] = [:]
    fileprivate(set) var latest = LatestResults()
    fileprivate(set) var latency = LatencyHistogram()
    /// Reason of the last failure, for the log.
    package fileprivate(set) var lastReason = ""

    /// Requests in a row that ended without a reply of any server.
    fileprivate var silences = 0
    /// When the last request with the whole time-out began.
    fileprivate var testedAt: Instant?

    /// Time-out of a request, as long as a client waits: time for a second and a third server.
    fileprivate static let timeout: Duration = .seconds(4)
    /// Time-out if `silencesToShorten` requests in a row got no reply: clients need not wait for a known failure. A
    /// server that works answers sooner.
    fileprivate static let shortTimeout: Duration = .seconds(1)
    fileprivate static let silencesToShorten = 2
    /// One request in this time has the whole time-out all the same, so that a slow server is not given up.
    fileprivate static let testInterval: Duration = .seconds(10)

    /// Returns when a request that begins now ends without a reply; nil: when the resolver abandons it.
    fileprivate func deadline(now: Instant) -> Instant? {
        let isTested = testedAt.map { now < $0 + NamedServer.testInterval } ?? false
        if silences >= NamedServer.silencesToShorten, isTested { return now + NamedServer.shortTimeout }
        testedAt = now
        return nil
    }

    package init(id: NameserverID, _ settings: Settings.Nameserver) {
        self.id = id
        self.settings = settings
        servers = settings.servers.map { Nameserver($0, caFile: settings.caFile, interface: settings.interface) }
        link = nil
    }

    /// The servers of a link. Names of the settings have no colon.
    init(id: NameserverID, _ link: AnnouncingLink) {
        self.id = id
        settings = Settings.Nameserver(name: "link:\(link.name)", servers: [], interface: link.interface)
        servers = link.servers
        self.link = link.name
    }

    package var name: String { settings.name }

    package var traits: ProviderTraits {
        ProviderTraits(
            id: .nameserver(id), types: .any, verifies: servers.allSatisfy { $0.tls != nil }, mayHedge: false,
            timeout: NamedServer.timeout)
    }
}

package final class NamedServers: TimedPart {
    package let timer = PartTimer()
    package private(set) var all: [NamedServer] = []
    private let system: SystemFetches
    private let outbox: any UpstreamOutbox
    private var nextID = 0
    private var running: [FetchID: Running] = [:] { didSet { timer.changed() } }
    private var finished: [(id: FetchID, result: FetchResult)] = []

    private struct Running {
        let request: SystemFetches.OwnRequest
        let server: NamedServer
        let startedAt: Instant
        /// When the fetch ends without a reply; nil: when the resolver abandons it.
        let deadline: Instant?
    }

    init(asking system: SystemFetches, outbox: any UpstreamOutbox) { (self.system, self.outbox) = (system, outbox) }

    /// Replaces the nameservers. Those with an unchanged name and unchanged servers keep their state.
    package func setServers(_ setup: NameserverSetup, _ links: [AnnouncingLink]) -> [ProviderTraits] {
        let former = all
        all = setup.nameservers.map { new in
            if let same = former.first(where: {
                $0.link == nil && $0.name == new.name && $0.settings.isReached(as: new)
            }) {
                same.settings = new
                return same
            }
            defer { nextID += 1 }
            return NamedServer(id: NameserverID(nextID), new)
        }
        all += links.map { link in
            if let same = former.first(where: { $0.link == link.name && $0.servers == link.servers }) {
                return same
            }
            defer { nextID += 1 }
            return NamedServer(id: NameserverID(nextID), link)
        }
        // The link has ended or has other servers, so replies of the former servers cannot arrive any more.
        end(.unreachable) { fetch in fetch.server.link != nil && !all.contains { $0 === fetch.server } }
        system.secure.setServers(Set(all.flatMap(\.servers).filter { $0.tls != nil }), setup.contexts)
        return all.map(\.traits)
    }

    package subscript(id: NameserverID) -> NamedServer? { all.first { $0.id == id } }

    /// Nameservers without a server that a route leads to.
    var unreachable: Set<RankedID> {
        Set(all.filter { system.reachable($0.servers).isEmpty }.map { .nameserver($0.id) })
    }

    func start(_ id: FetchID, _ question: Question, _ nameserver: NameserverID, now: Instant) {
        guard let server = self[nameserver] else { return finished.append((id, .failure(.unreachable))) }
        server.requests += 1
        let trustsAD = server.settings.trustAD
        let request = system.ask(question, of: server.servers, trustsAuthenticData: trustsAD, now: now) {
            [unowned self] result in
            running[id] = nil
            server.finished(with: result, after: now.duration(to: Clock.now()))
            finished.append((id, result))
        }
        running[id] = Running(
            request: request, server: server, startedAt: now, deadline: server.deadline(now: now))
    }

    package var nextDeadline: Instant? { running.values.compactMap(\.deadline).min() }

    package func timePassed(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        for fetch in end(.timeout, where: { $0.deadline.map { $0 <= now } ?? false }) {
            fetch.server.finished(with: .failure(.timeout), after: fetch.startedAt.duration(to: now))
        }
    }

    /// Ends fetches with a failure, in the order in which they began.
    ///
    /// - Returns: what ended.
    @discardableResult
    private func end(_ failure: FetchFailure, where isEnded: (Running) -> Bool) -> [Running] {
        let ended = running.filter { isEnded($0.value) }.sorted { $0.key.number < $1.key.number }
        for (id, fetch) in ended {
            system.cancel(fetch.request)
            running[id] = nil
            finished.append((id, .failure(failure)))
        }
        return ended.map(\.value)
    }

    /// The resolver abandons a fetch at its time-out, too.
    func abandon(_ id: FetchID, now: Instant) {
        guard let fetch = running.removeValue(forKey: id) else { return }
        system.cancel(fetch.request)
        let elapsed = fetch.startedAt.duration(to: now)
        if elapsed >= NamedServer.timeout { fetch.server.finished(with: .failure(.timeout), after: elapsed) }
    }

    var hasFinished: Bool { !finished.isEmpty }

    /// Call it after the client's `reportResults`.
    func reportResults() {
        for failed in system.secure.takeFailures() {
            for server in all where server.servers.contains(failed.server) {
                server.lastReason = failed.reason
                outbox.report(.requestFailed(provider: server.name, reason: failed.reason))
            }
        }
        guard hasFinished else { return }
        for fetch in finished { outbox.report(.event(.fetchFinished(fetch.id, fetch.result))) }
        finished = []
    }

    func reset() {
        for server in all { server.latest = LatestResults() }
    }

    func connections(of server: NamedServer) -> ConnectionCounts {
        server.servers.reduce(ConnectionCounts()) { $0 + system.secure.connections(to: $1) }
    }
}

extension NamedServer {
    fileprivate func finished(with result: FetchResult, after elapsed: Duration) {
        latest.add(isSuccess: result.isUseful)
        switch result {
        case .success, .notServed, .omitted:
            answered += 1
            silences = 0
            latency.record(elapsed)
        case .nameFailed:
            failures[.server, default: 0] += 1
            silences = 0
            latency.record(elapsed)
        case .failure(let failure):
            failures[failure, default: 0] += 1
            silences = failure == .timeout ? silences + 1 : 0
            lastReason = failure.rawValue
        }
    }
}

extension Settings.Nameserver {
    fileprivate func isReached(as other: Self) -> Bool {
        servers == other.servers && caFile == other.caFile && interface == other.interface
            && trustAD == other.trustAD
    }
}

extension Nameserver {
    fileprivate init(_ server: Settings.Nameserver.Server, caFile: String?, interface: String?) {
        let address = server.endpoint.address
        let zone = address.isLinkLocal6 ? interface : nil
        switch server.transport {
        case .plain: self.init(address, port: server.endpoint.port, zone: zone, interface: interface)
        case .tls(let name):
            self.init(
                address, port: server.endpoint.port, zone: zone,
                tls: TLS(certificateName: name ?? address.description, caFile: caFile), interface: interface)
        }
    }
}
