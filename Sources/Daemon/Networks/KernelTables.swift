// The kernel's tables of links, addresses and routes as they were last evaluated. A machine that creates containers
// changes them hundreds of times a second, therefore evaluations have pauses.

import DNSWire
import LinuxIO
import Network

final class KernelTables {
    private let routes: RouteWatch
    /// The timer of the owner.
    private let timer: PartTimer
    /// Netlink messages are waiting.
    private var hasNews = false
    /// The tables have changed since the last evaluation.
    private var hasChanges = false { didSet { timer.changed() } }
    private var evaluatedAt: Instant? { didSet { timer.changed() } }
    /// Pause between two evaluations, derived from the duration of the last one.
    private var pause: Duration = .zero { didSet { timer.changed() } }
    /// When to read the kernel again after a failed read; nil otherwise.
    private var retryAt: Instant? { didSet { timer.changed() } }
    /// The tables of the last evaluation.
    private(set) var latest: NetworkTables
    /// Number of evaluations in which the routes or local addresses differed from those of the previous evaluation.
    private(set) var routeChanges = 0
    /// Whether a router has advertised NAT64 prefixes, expired ones included. A value, because each turn of the loop
    /// reads it.
    private(set) var hasAdvertisedPrefixes: Bool

    /// Longest pause between two evaluations. Up to this bound, a pause limits evaluations to a fifth of this thread's
    /// time.
    private static let longestPause: Duration = .milliseconds(20)
    private static let pauseFactor = 4
    private static let retryPause: Duration = .seconds(1)

    /// - Throws: if the kernel refuses the netlink subscription.
    init(_ loop: EventLoop, _ timer: PartTimer) throws(SystemError) {
        self.timer = timer
        routes = try RouteWatch()
        latest = routes.tables
        hasAdvertisedPrefixes = !routes.nat64Prefixes.isEmpty
        _ = try loop.watch(routes.descriptor, for: .readable) { [unowned self] _ in hasNews = true }
    }

    var nextDeadline: Instant? {
        Instant.earliest(hasChanges ? evaluatedAt.map { $0 + pause } : nil, retryAt)
    }

    /// Reads what the kernel has told, and has it evaluated unless the last evaluation was a short time ago.
    ///
    /// - Parameter evaluate: called with the tables if they have changed.
    func read(now: Instant, _ evaluate: (NetworkTables) -> Void) {
        if hasNews || retryAt.map({ $0 <= now }) ?? false { readRoutes(now: now) }
        guard hasChanges, evaluatedAt.map({ now - $0 >= pause }) ?? true else { return }
        hasChanges = false
        evaluatedAt = now
        let former = latest
        latest = routes.tables
        if latest.routes != former.routes || latest.addresses != former.addresses { routeChanges += 1 }
        evaluate(latest)
        pause = min(now.duration(to: Clock.now()) * KernelTables.pauseFactor, KernelTables.longestPause)
    }

    /// The NAT64 prefixes from router advertisements (RFC 8781) that have not expired.
    func advertisedPrefixes(now: Instant) -> [NAT64Prefix] {
        routes.nat64Prefixes.filter { $0.end > now }.map(\.prefix)
    }

    /// Retries after 1 s if the kernel is short of memory.
    private func readRoutes(now: Instant) {
        hasNews = false
        do throws(SystemError) {
            retryAt = nil
            if try routes.takeChanges() { hasChanges = true }
            hasAdvertisedPrefixes = !routes.nat64Prefixes.isEmpty
        } catch {
            retryAt = now + KernelTables.retryPause
        }
    }
}
