// Monitors the machine's network: feeds kernel tables and clocks to `NetworkChanges`, finds the network among the known
// ones, and keeps their history. The caller of `takeActions` carries out the consequences of a change.

import Crypto
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings

final class NetworkMonitor {
    /// The timer of the owner, which follows the network in each turn.
    let timer = PartTimer()

    /// ID of the network in use, salted with the machine ID, so that files do not reveal which networks were visited. A
    /// random salt in the store would be unknown at the start, and the first query would miss its entry.
    private(set) var id: NetworkID
    private(set) var enteredAt: Instant
    private(set) var exits: ExitReports
    /// During a change: the known network that the kernel's tables already match; nil otherwise.
    private(set) var candidate: NetworkID?
    private(set) var history = NetworkHistory()
    private(set) var recovery = NetworkRecovery() { didSet { isRecovering = recovery.isMeasuring } }
    /// The network has changed, and no answer has arrived since. A value, because each turn of the loop reads it.
    private(set) var isRecovering = false

    private let salt: [UInt8]
    private let tables: KernelTables
    private let clocks: ClockWatch
    private var changes: NetworkChanges { didSet { timer.changed() } }
    private var wakes: WakeWatch
    /// Since when neither family has a default route; nil while one has.
    private(set) var lostAt: Instant?
    /// Routes and NAT64 prefixes at the last `takeReachNews` that returned true.
    private var toldReach: (reach: NetworkReach, prefixes: [NAT64Prefix])?
    /// `changes` has had an event since the last `takeReachNews`.
    private var isReachUnread = true
    // Values of `changes` that each turn of the loop reads. A call on the property would copy all its tables.
    /// Whether a default route of any family leads out.
    private(set) var hasWayOut: Bool
    private(set) var isChanging: Bool
    private var deadlineOfChanges: Instant?
    private var actions: [NetworkChanges.Action] = []

    /// Key of the store's note that holds the network history.
    static let note = "networks"
    /// machine-id(5) requires hashing the ID with an application-specific string.
    private static let machineID = "/etc/machine-id"
    private static let purpose = Array("httpdnsd network".utf8)

    /// - Parameters:
    ///   - searchDomains: the search domains of resolv.conf.
    ///   - seed: salt on a machine without a machine ID: network IDs are then stable only within this process.
    /// - Throws: if the kernel refuses the netlink subscription or the clock watch.
    init(loop: EventLoop, searchDomains: [Name], seed: UInt64) throws(SystemError) {
        let now = Clock.now()
        let machine = (try? TextFile.read(NetworkMonitor.machineID, maxBytes: 4096)) ?? []
        salt = machine.isEmpty ? Array(String(seed).utf8) : machine
        tables = try KernelTables(loop, timer)
        clocks = try ClockWatch()
        changes = NetworkChanges(tables: tables.latest, searchDomains: searchDomains.map(\.description), now: now)
        wakes = WakeWatch(sinceBoot: .milliseconds(Clock.millisecondsSinceBoot(Clock.now())), awake: Clock.awake())
        id = NetworkMonitor.id(of: changes.identity, salt)
        enteredAt = now
        exits = ExitReports(now: now)
        (hasWayOut, isChanging) = (changes.reach.hasSomeWayOut, changes.isChanging)
        deadlineOfChanges = changes.nextDeadline
        lostAt = hasWayOut ? nil : now
        _ = history.entered(id, changes.identity, cause: nil, wallSeconds: Clock.wallMilliseconds() / 1000)
        // `timePassed` reads the clocks in every turn, so the event only needs to be rearmed.
        _ = try loop.watch(clocks.descriptor, for: .readable) { [unowned self] _ in try? clocks.rearm() }
    }

    var identity: NetworkIdentity { changes.identity }
    var reach: NetworkReach { changes.reach }

    /// Returns the use of the interface as of the last evaluation of the tables.
    func use(of interface: String) -> LinkUse? { tables.latest.use(of: interface) }

    /// Grows with each change of the routes or local addresses.
    var routeChanges: Int { tables.routeChanges }

    var nextDeadline: Instant? { Instant.earliest(deadlineOfChanges, tables.nextDeadline) }

    /// Called in every turn of the event loop.
    ///
    /// - Parameter lateBy: how much later than its deadline the turn began; zero without a deadline.
    func timePassed(lateBy: Duration, now: Instant) {
        // Read the clocks first: time spent below must not count as suspension.
        let absence = wakes.read(
            sinceBoot: .milliseconds(Clock.millisecondsSinceBoot(now)), awake: Clock.awake(), lateBy: lateBy)
        tables.read(now: now) {
            handle(.tables($0), now: now)
            lostAt = hasWayOut ? nil : lostAt ?? now
        }
        if absence != nil { handle(.woke, now: now) }
        if let deadlineOfChanges, deadlineOfChanges <= now { handle(.timePassed, now: now) }
    }

    func found(searchDomains: [Name], now: Instant) {
        handle(.searchDomains(searchDomains.map(\.description)), now: now)
    }

    func advertisedPrefixes(now: Instant) -> [NAT64Prefix] { tables.advertisedPrefixes(now: now) }

    /// False if nothing can have changed since the owner followed the network last. Advertised prefixes end without an
    /// event.
    var hasNews: Bool { isReachUnread || !actions.isEmpty || tables.hasAdvertisedPrefixes }

    /// True if the routes or the NAT64 prefixes have changed since the last call.
    func takeReachNews(now: Instant) -> Bool {
        // Advertised prefixes end, and begin again, without an event.
        if !isReachUnread, !tables.hasAdvertisedPrefixes { return false }
        isReachUnread = false
        let present = (reach, advertisedPrefixes(now: now))
        if let toldReach, toldReach == present { return false }
        toldReach = present
        return true
    }

    /// Whether the next `takeActions` has a change.
    var hasChange: Bool { !actions.isEmpty && actions.contains(where: \.isChange) }

    /// Returns the actions since the last call. `changing` is reported once for each step of a change.
    func takeActions() -> [NetworkChanges.Action] {
        guard !actions.isEmpty else { return [] }
        defer { actions.removeAll() }
        return actions
    }

    private func handle(_ event: NetworkChanges.Event, now: Instant) {
        var news: [NetworkChanges.Action] = []
        let steps = changes.steps
        changes.handle(event, now: now, actions: &news)
        (hasWayOut, isChanging) = (changes.reach.hasSomeWayOut, changes.isChanging)
        (deadlineOfChanges, isReachUnread) = (changes.nextDeadline, true)
        // Requests begun since the previous step may use another network, so report each further step as well.
        if changes.steps != steps, !news.contains(.changing) { actions.append(.changing) }
        candidate = changes.candidate.flatMap { history.latest(onLink: NetworkMonitor.id(of: $0, salt))?.id }
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
        let link = NetworkMonitor.id(of: change.identity, salt)
        // Until providers report the exit's address, the carrier counts as the one of the last visit.
        id =
            if let carrier = change.carrier?.prefix {
                history.network(onLink: link, of: carrier)?.id
                    ?? NetworkMonitor.id(of: change.identity, behind: carrier, salt)
            } else {
                history.latest(onLink: link)?.id ?? link
            }
        enteredAt = now
        recovery.began(change)
        let forgotten = history.entered(
            id, onLink: link, change.identity, cause: change.cause, wallSeconds: Clock.wallMilliseconds() / 1000)
        var carrier = history.carrier(of: id)
        if let prefix = change.carrier?.prefix { carrier.set(prefix) }
        _ = history.found(carrier, of: id)
        exits.entered(carrier, isOtherCarrier: change.cause == .carrier, now: now)
        return forgotten
    }

    /// Records the address that a provider reported for this machine. If it shows another carrier, the next
    /// `takeActions` has a change.
    ///
    /// - Parameter askedAt: when the request was sent: an earlier one may have left through another network.
    /// - Returns: whether the history has changed.
    func reported(_ exit: Address, by provider: ProviderID, askedAt: Instant, now: Instant) -> Bool {
        guard askedAt >= enteredAt, hasWayOut, !isChanging, !hasChange else { return false }
        guard let carrier = exits.reported(exit, by: provider.number, now: now) else {
            return history.found(exits.carrier, of: id)
        }
        actions.append(.changed(NetworkChange(identity: identity, cause: .carrier, usableSince: now, carrier: carrier)))
        return false
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

    /// Merges the network history from the store. If another carrier was in use last, and none is known since, the
    /// next `takeActions` has a change.
    ///
    /// - Returns: the networks removed from the history.
    func restore(_ notes: [String: String], now: Instant) -> [NetworkID] {
        guard let note = notes[NetworkMonitor.note] else { return [] }
        let isCarrierKnown = !history.carrier(of: id).prefixes.isEmpty
        let earlier = NetworkHistory(restoring: note)
        let forgotten = history.merge(earlier)
        exits.entered(history.carrier(of: id), isOtherCarrier: false, now: enteredAt)
        let link = NetworkMonitor.id(of: identity, salt)
        if !isChanging, !isCarrierKnown, let last = earlier.latest(onLink: link), last.id != id,
            let prefix = last.carrier.prefixes.first
        {
            let carrier = OtherCarrier(prefix: prefix, since: enteredAt)
            actions.append(
                .changed(NetworkChange(identity: identity, cause: .carrier, usableSince: now, carrier: carrier)))
        }
        return forgotten
    }

    /// - Parameter carrier: nil for the carrier that is found first.
    private static func id(
        of identity: NetworkIdentity, behind carrier: Prefix? = nil, _ salt: [UInt8]
    ) -> NetworkID {
        let bytes = purpose + identity.canonicalBytes + (carrier.map { Array("\($0)".utf8) } ?? [])
        do throws(CryptoError) {
            return NetworkID(digest: try Digest.hmacSHA256(key: salt, bytes))
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
