// Follows the network that the machine is on: hears the kernel and the clocks, lets `NetworkEpochs` conclude, and keeps
// what is remembered of networks. What follows from a change is carried out by whoever takes the actions.

import Crypto
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings

final class NetworkFollower {
    /// Of the network in use; another one on every machine, so that files do not give away where somebody was.
    private(set) var id: NetworkID
    private(set) var enteredAt: Instant
    /// While a change is under way: the known network that the kernel's tables define already.
    private(set) var candidate: NetworkID?
    private(set) var history = NetworkHistory()
    private(set) var recovery = NetworkRecovery()

    private let salt: [UInt8]
    private let routes: RouteWatch
    private let clocks: ClockWatch
    private var epochs: NetworkEpochs
    private var wakes: WakeWatch
    /// The kernel has something to say.
    private var hasNews = false
    /// It has said something that was not concluded from yet.
    private var hasChanges = false
    private var concludedAt: Instant?
    /// Pause from one conclusion to the next, after what the last one has taken.
    private var conclusionPause: Duration = .zero
    /// The kernel could not be read.
    private var retryAt: Instant?
    /// Since then nothing leads out; nil: something does.
    private(set) var lostAt: Instant?
    /// What was told of it last.
    private var toldReach: (reach: NetworkReach, prefixes: [TranslationPrefix])?
    private var actions: [NetworkEpochs.Action] = []
    /// How often the routes or the own addresses differed from those of the conclusion before.
    private(set) var routeChanges = 0
    /// Of the last conclusion.
    private var tables: NetworkTables

    /// The note of the store that networks are remembered in.
    static let note = "networks"
    /// A machine that makes containers changes its tables hundreds of times a second: to conclude from them may take a
    /// fifth of this thread's time, and waits for this at most.
    private static let longestConclusionPause: Duration = .milliseconds(20)
    private static let conclusionPauseFactor = 4
    private static let retryPause: Duration = .seconds(1)
    /// machine-id(5): it is to be hashed with a word of the program's own.
    private static let machineID = "/etc/machine-id"
    private static let purpose = Array("httpdnsd network".utf8)

    /// - Parameters:
    ///   - searchDomains: of resolv.conf.
    ///   - seed: where the machine has no identity, networks are known again for as long as this process lives.
    /// - Throws: the kernel does not let us listen.
    init(loop: EventLoop, searchDomains: [Name], seed: UInt64) throws(SystemError) {
        let now = Clock.now()
        let machine = (try? TextFile.read(NetworkFollower.machineID, maxBytes: 4096)) ?? []
        salt = machine.isEmpty ? Array(String(seed).utf8) : machine
        routes = try RouteWatch()
        clocks = try ClockWatch()
        tables = NetworkTables(routes.tables)
        epochs = NetworkEpochs(tables: tables, searchDomains: searchDomains.map(\.description), now: now)
        wakes = WakeWatch(sinceBoot: .milliseconds(Clock.millisecondsSinceBoot(Clock.now())), awake: Clock.awake())
        id = NetworkFollower.id(of: epochs.identity, salt)
        enteredAt = now
        lostAt = epochs.reach.hasWayOut(.a) || epochs.reach.hasWayOut(.aaaa) ? nil : now
        _ = history.entered(id, epochs.identity, cause: nil, wallSeconds: Clock.wallMilliseconds() / 1000)
        _ = try loop.watch(routes.descriptor, for: .readable) { [unowned self] _ in hasNews = true }
        // Whatever woke the loop, the clocks are looked at in every turn.
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

    /// In every turn of the loop.
    ///
    /// - Parameter lateBy: how much later than its deadline the turn has come; zero where it had none.
    func timePassed(lateBy: Duration, now: Instant) {
        // First: what takes long from here on is no sleep.
        let absence = wakes.read(
            sinceBoot: .milliseconds(Clock.millisecondsSinceBoot(now)), awake: Clock.awake(), lateBy: lateBy)
        if hasNews || retryAt.map({ $0 <= now }) ?? false { readRoutes(now: now) }
        if hasChanges, concludedAt.map({ now - $0 >= conclusionPause }) ?? true {
            hasChanges = false
            concludedAt = now
            let former = tables
            tables = NetworkTables(routes.tables)
            if tables.routes != former.routes || tables.addresses != former.addresses { routeChanges += 1 }
            handle(.tables(tables), now: now)
            conclusionPause = min(
                now.duration(to: Clock.now()) * NetworkFollower.conclusionPauseFactor,
                NetworkFollower.longestConclusionPause)
            lostAt = hasWayOut ? nil : lostAt ?? now
        }
        if absence != nil { handle(.woke, now: now) }
        if let deadline = epochs.nextDeadline, deadline <= now { handle(.timePassed, now: now) }
    }

    /// The kernel may have no room for what we ask; what it has to say then is asked for again.
    private func readRoutes(now: Instant) {
        hasNews = false
        do throws(SystemError) {
            retryAt = nil
            if try routes.takeChanges() { hasChanges = true }
        } catch {
            retryAt = now + NetworkFollower.retryPause
        }
    }

    func found(searchDomains: [Name], now: Instant) {
        handle(.searchDomains(searchDomains.map(\.description)), now: now)
    }

    /// The prefixes of router advertisements (RFC 8781) that hold still.
    func advertisedPrefixes(now: Instant) -> [TranslationPrefix] {
        routes.translationPrefixes.filter { $0.end > now }.compactMap { advertised in
            Prefix(Address(advertised.prefix), length: advertised.length).flatMap(TranslationPrefix.init)
        }
    }

    /// Whether routes lead elsewhere, or through another translator, than when this was called last.
    func takeReachNews(now: Instant) -> Bool {
        let present = (reach, advertisedPrefixes(now: now))
        if let toldReach, toldReach == present { return false }
        toldReach = present
        return true
    }

    /// `unsettled` comes once for each step of a change.
    func takeActions() -> [NetworkEpochs.Action] {
        defer { actions.removeAll() }
        return actions
    }

    private func handle(_ event: NetworkEpochs.Event, now: Instant) {
        var news: [NetworkEpochs.Action] = []
        let steps = epochs.steps
        epochs.handle(event, now: now, actions: &news)
        // What was begun at the step before may go over another network already.
        if epochs.steps != steps, !news.contains(.unsettled) { actions.append(.unsettled) }
        let candidate = epochs.candidate.map { NetworkFollower.id(of: $0, salt) }
        self.candidate = candidate.flatMap { id in history.known.contains { $0.id == id } ? id : nil }
        for action in news {
            if case .solicit(let gateway, let link) = action {
                RouteWatch.solicit(SocketAddress(gateway, port: 0), link: Int32(truncatingIfNeeded: link))
            } else {
                actions.append(action)
            }
        }
    }

    // MARK: what is remembered

    /// - Returns: the networks that are known no more.
    func entered(_ change: NetworkChange, now: Instant) -> [NetworkID] {
        id = NetworkFollower.id(of: change.identity, salt)
        enteredAt = now
        recovery.began(change)
        return history.entered(
            id, change.identity, cause: change.cause, wallSeconds: Clock.wallMilliseconds() / 1000)
    }

    /// - Parameters:
    ///   - askedAt: when an upstream was asked last.
    ///   - learnedAt: when an upstream's answer was kept last.
    /// - Returns: how long the first answer after a change has taken, once.
    func noteAnswers(askedAt: Instant?, learnedAt: Instant?) -> Duration? {
        if let askedAt, askedAt >= enteredAt { recovery.wanted(now: askedAt) }
        guard let learnedAt, learnedAt >= enteredAt, let found = recovery.learned(now: learnedAt) else { return nil }
        history.recovered(after: found.recovery)
        return found.recovery
    }

    /// What the store has kept.
    ///
    /// - Returns: the networks that are known no more.
    func restore(_ notes: [String: String]) -> [NetworkID] {
        notes[NetworkFollower.note].map { history.merge(NetworkHistory(restoring: $0)) } ?? []
    }

    private static func id(of identity: NetworkIdentity, _ salt: [UInt8]) -> NetworkID {
        do throws(CryptoError) {
            return NetworkID(digest: try Digest.hmacSHA256(key: salt, purpose + identity.canonicalBytes))
        } catch {
            preconditionFailure("every OpenSSL has SHA-256: \(error)")
        }
    }
}

extension NetworkFollower {
    /// Nil: the settings want none.
    static func begin(
        _ settings: Settings.Network, _ loop: EventLoop, _ searchDomains: [Name], seed: UInt64
    ) throws(StartFailure) -> NetworkFollower? {
        guard settings.watch else { return nil }
        do throws(SystemError) {
            return try NetworkFollower(loop: loop, searchDomains: searchDomains, seed: seed)
        } catch {
            throw StartFailure(network: error)
        }
    }
}
