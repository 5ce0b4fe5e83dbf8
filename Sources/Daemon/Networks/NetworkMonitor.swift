// Monitors the machine's network: feeds kernel tables and clocks to `NetworkEpochs` and keeps the history of networks.
// The caller of `takeActions` carries out the consequences of a change.

import Crypto
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings

final class NetworkMonitor {
    /// ID of the network in use, salted with the machine ID, so that files do not reveal which networks were visited. A
    /// random salt in the store would be unknown at the start, and the first query would miss its entry.
    private(set) var id: NetworkID
    private(set) var enteredAt: Instant
    /// During a change: the known network that the kernel's tables already match; nil otherwise.
    private(set) var candidate: NetworkID?
    private(set) var history = NetworkHistory()
    private(set) var recovery = NetworkRecovery()

    private let salt: [UInt8]
    private let routes: RouteWatch
    private let clocks: ClockWatch
    private var epochs: NetworkEpochs
    private var wakes: WakeWatch
    /// Netlink messages are waiting.
    private var hasNews = false
    /// The tables have changed since the last evaluation.
    private var hasChanges = false
    private var concludedAt: Instant?
    /// Pause between two evaluations, derived from the duration of the last one.
    private var conclusionPause: Duration = .zero
    /// When to read the kernel again after a failed read; nil otherwise.
    private var retryAt: Instant?
    /// Since when neither family has a default route; nil while one has.
    private(set) var lostAt: Instant?
    /// Routes and NAT64 prefixes at the last `takeReachNews` that returned true.
    private var toldReach: (reach: NetworkReach, prefixes: [NAT64Prefix])?
    private var actions: [NetworkEpochs.Action] = []
    /// Number of evaluations in which the routes or local addresses differed from those of the previous evaluation.
    private(set) var routeChanges = 0
    /// The tables of the last evaluation.
    private var tables: NetworkTables

    /// Key of the store's note that holds the network history.
    static let note = "networks"
    /// Longest pause between two evaluations. A machine that creates containers changes its tables hundreds of times a
    /// second. Up to this bound, the pause limits evaluations to a fifth of this thread's time.
    private static let longestConclusionPause: Duration = .milliseconds(20)
    private static let conclusionPauseFactor = 4
    private static let retryPause: Duration = .seconds(1)
    /// machine-id(5) requires hashing the ID with an application-specific string.
    private static let machineID = "/etc/machine-id"
    private static let purpose = Array("httpdnsd network".utf8)

    /// - Parameters:
    ///   - searchDomains: from resolv.conf.
    ///   - seed: salt on a machine without a machine ID: network IDs are then stable only within this process.
    /// - Throws: if the kernel refuses the netlink subscription or the clock watch.
    init(loop: EventLoop, searchDomains: [Name], seed: UInt64) throws(SystemError) {
        let now = Clock.now()
        let machine = (try? TextFile.read(NetworkMonitor.machineID, maxBytes: 4096)) ?? []
        salt = machine.isEmpty ? Array(String(seed).utf8) : machine
        routes = try RouteWatch()
        clocks = try ClockWatch()
        tables = routes.tables
        epochs = NetworkEpochs(tables: tables, searchDomains: searchDomains.map(\.description), now: now)
        wakes = WakeWatch(sinceBoot: .milliseconds(Clock.millisecondsSinceBoot(Clock.now())), awake: Clock.awake())
        id = NetworkMonitor.id(of: epochs.identity, salt)
        enteredAt = now
        lostAt = epochs.reach.hasWayOut(.a) || epochs.reach.hasWayOut(.aaaa) ? nil : now
        _ = history.entered(id, epochs.identity, cause: nil, wallSeconds: Clock.wallMilliseconds() / 1000)
        _ = try loop.watch(routes.descriptor, for: .readable) { [unowned self] _ in hasNews = true }
        // `timePassed` reads the clocks in every turn, so the event only needs to be rearmed.
        _ = try loop.watch(clocks.descriptor, for: .readable) { [unowned self] _ in try? clocks.rearm() }
    }

    var identity: NetworkIdentity { epochs.identity }
    var reach: NetworkReach { epochs.reach }
    var hasWayOut: Bool { reach.hasWayOut(.a) || reach.hasWayOut(.aaaa) }
    var isUnsettled: Bool { epochs.isUnsettled }

    var nextDeadline: Instant? {
        let conclusion = hasChanges ? concludedAt.map { $0 + conclusionPause } : nil
        return [epochs.nextDeadline, conclusion, retryAt].compactMap { $0 }.min()
    }

    /// Called in every turn of the event loop.
    ///
    /// - Parameter lateBy: how much later than its deadline the turn began; zero without a deadline.
    func timePassed(lateBy: Duration, now: Instant) {
        // Read the clocks first: time spent below must not count as suspension.
        let absence = wakes.read(
            sinceBoot: .milliseconds(Clock.millisecondsSinceBoot(now)), awake: Clock.awake(), lateBy: lateBy)
        if hasNews || retryAt.map({ $0 <= now }) ?? false { readRoutes(now: now) }
        if hasChanges, concludedAt.map({ now - $0 >= conclusionPause }) ?? true {
            hasChanges = false
            concludedAt = now
            let former = tables
            tables = routes.tables
            if tables.routes != former.routes || tables.addresses != former.addresses { routeChanges += 1 }
            handle(.tables(tables), now: now)
            conclusionPause = min(
                now.duration(to: Clock.now()) * NetworkMonitor.conclusionPauseFactor,
                NetworkMonitor.longestConclusionPause)
            lostAt = hasWayOut ? nil : lostAt ?? now
        }
        if absence != nil { handle(.woke, now: now) }
        if let deadline = epochs.nextDeadline, deadline <= now { handle(.timePassed, now: now) }
    }

    /// Reads the routes; retries after 1 s if the kernel is short of memory.
    private func readRoutes(now: Instant) {
        hasNews = false
        do throws(SystemError) {
            retryAt = nil
            if try routes.takeChanges() { hasChanges = true }
        } catch {
            retryAt = now + NetworkMonitor.retryPause
        }
    }

    func found(searchDomains: [Name], now: Instant) {
        handle(.searchDomains(searchDomains.map(\.description)), now: now)
    }

    /// The NAT64 prefixes from router advertisements (RFC 8781) that have not expired.
    func advertisedPrefixes(now: Instant) -> [NAT64Prefix] {
        routes.nat64Prefixes.filter { $0.end > now }.map(\.prefix)
    }

    /// True if the routes or the NAT64 prefixes have changed since the last call.
    func takeReachNews(now: Instant) -> Bool {
        let present = (reach, advertisedPrefixes(now: now))
        if let toldReach, toldReach == present { return false }
        toldReach = present
        return true
    }

    /// Returns the actions since the last call. `unsettled` is reported once for each step of a change.
    func takeActions() -> [NetworkEpochs.Action] {
        defer { actions.removeAll() }
        return actions
    }

    private func handle(_ event: NetworkEpochs.Event, now: Instant) {
        var news: [NetworkEpochs.Action] = []
        let steps = epochs.steps
        epochs.handle(event, now: now, actions: &news)
        // Requests begun since the previous step may use another network, so report each further step as well.
        if epochs.steps != steps, !news.contains(.unsettled) { actions.append(.unsettled) }
        let candidate = epochs.candidate.map { NetworkMonitor.id(of: $0, salt) }
        self.candidate = candidate.flatMap { id in history.known.contains { $0.id == id } ? id : nil }
        for action in news {
            if case .solicit(let gateway, let link) = action {
                RouteWatch.solicit(gateway, link: link)
            } else {
                actions.append(action)
            }
        }
    }

    // MARK: history

    /// Records a change of the network.
    ///
    /// - Returns: the networks removed from the history.
    func entered(_ change: NetworkChange, now: Instant) -> [NetworkID] {
        id = NetworkMonitor.id(of: change.identity, salt)
        enteredAt = now
        recovery.began(change)
        return history.entered(
            id, change.identity, cause: change.cause, wallSeconds: Clock.wallMilliseconds() / 1000)
    }

    /// Updates the recovery time after a change of the network.
    ///
    /// - Parameters:
    ///   - askedAt: when an upstream was last queried.
    ///   - learnedAt: when an upstream's answer was last cached.
    /// - Returns: the time until the first answer after a change, once per change; otherwise nil.
    func noteAnswers(askedAt: Instant?, learnedAt: Instant?) -> Duration? {
        if let askedAt, askedAt >= enteredAt { recovery.requested(now: askedAt) }
        guard let learnedAt, learnedAt >= enteredAt, let found = recovery.learned(now: learnedAt) else { return nil }
        history.recovered(after: found.recovery)
        return found.recovery
    }

    /// Merges the network history from the store.
    ///
    /// - Returns: the networks removed from the history.
    func restore(_ notes: [String: String]) -> [NetworkID] {
        notes[NetworkMonitor.note].map { history.merge(NetworkHistory(restoring: $0)) } ?? []
    }

    private static func id(of identity: NetworkIdentity, _ salt: [UInt8]) -> NetworkID {
        do throws(CryptoError) {
            return NetworkID(digest: try Digest.hmacSHA256(key: salt, purpose + identity.canonicalBytes))
        } catch {
            preconditionFailure("every OpenSSL has SHA-256: \(error)")
        }
    }
}

extension NetworkMonitor {
    /// Returns nil if the settings disable network watching.
    static func begin(
        _ settings: Settings.Network, _ loop: EventLoop, _ searchDomains: [Name], seed: UInt64
    ) throws(StartFailure) -> NetworkMonitor? {
        guard settings.watch else { return nil }
        do throws(SystemError) {
            return try NetworkMonitor(loop: loop, searchDomains: searchDomains, seed: seed)
        } catch {
            throw StartFailure(network: error)
        }
    }
}
