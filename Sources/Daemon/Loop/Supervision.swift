// Messages to the service manager. Signs of life require that the main loop turns and every serving thread has
// answered the last check; without them the manager restarts the daemon.

import DNSWire
import LinuxIO
import Serving
import Upstreams

final class Supervision: TimedPart {
    let timer = PartTimer()
    private let notice: ServiceNotice
    private let threads: ServingThreads
    /// Descriptors of sockets that the next process gets.
    private let descriptorsToKeep: [Int32]
    /// When the manager gets signs of life; nil: it expects none.
    private var watchdog: Watchdog? { didSet { timer.changed() } }
    /// The start is over: until then, the manager is told of no reload.
    private var isReady = false
    /// Messages that the manager had no room for, and the time of the retry.
    private var unheard: (news: [ServiceNotice.News], next: Instant)? { didSet { timer.changed() } }

    /// The manager empties its queue as soon as it runs.
    private static let retryPause: Duration = .milliseconds(100)

    /// - Parameter descriptorsToKeep: open as long as this object.
    init(_ notice: ServiceNotice, _ threads: ServingThreads, descriptorsToKeep: [Int32], now: Instant) {
        self.descriptorsToKeep = descriptorsToKeep
        self.notice = notice
        self.threads = threads
        watchdog = notice.watchdogInterval.map { Watchdog(interval: $0, now: now) }
    }

    var nextDeadline: Instant? { [watchdog?.nextDeadline, unheard?.next].compactMap(\.self).min() }

    func timePassed(now: Instant) {
        if let unheard, unheard.next <= now { insist(on: unheard.news, now: now) }
        guard watchdog?.timePassed(isServing: threads.haveAnswered, now: now) == true else { return }
        notice.tell(.alive)
        threads.checkLiveness()
    }

    /// Reports that every socket serves. The manager gets the sockets now and not at the end, so that they outlive a
    /// crash, too; what it has is what is bound, because no socket is bound or closed later. It closes them when the
    /// service has ended for good, so that queries are refused then. Its copies of connections, which are served now,
    /// would keep them open after their end.
    func ready(_ places: [String], _ providers: [Provider], now: Instant) {
        isReady = true
        let names = providers.map(\.name)
        let line = "serving on \(places.joined(separator: ", ")) from \(names.joined(separator: ", "))"
        insist(on: [.forget(.connection), .keep(descriptorsToKeep, .bound), .ready(line)], now: now)
    }

    /// Repeats messages that were not delivered: without them the manager would kill the daemon, or show it as
    /// reloading for ever.
    private func insist(on news: [ServiceNotice.News], now: Instant) {
        let rest = Array(news.drop { notice.tell($0) })
        unheard = rest.isEmpty ? nil : (rest, now + Supervision.retryPause)
    }

    /// Leaves clients' connections to the next process.
    func keep(connections: [Int32]) { notice.tell(.keep(connections, .connection)) }

    /// Reports a reload; `ready` follows, whatever its result.
    func reloading() {
        if isReady { notice.tell(.reloading) }
    }

    /// Ends a reload.
    func reloaded(_ places: [String], _ providers: [Provider], now: Instant) {
        if isReady { ready(places, providers, now: now) }
    }

    func stopping() {
        unheard = nil
        notice.tell(.stopping)
    }
}

/// Schedule of signs of life.
struct Watchdog: Equatable {
    private let interval: Duration
    private(set) var nextDeadline: Instant

    /// Two signs are due within the interval, so one may be late (sd_watchdog_enabled(3)).
    private static let signsInInterval = 2
    /// A thread that is behind is checked again before the interval ends.
    private static let checksInInterval = 8

    init(interval: Duration, now: Instant) {
        self.interval = interval
        nextDeadline = now + interval / Watchdog.signsInInterval
    }

    /// - Parameter isServing: evaluated only if a sign is due.
    /// - Returns: whether to send a sign now.
    mutating func timePassed(isServing: @autoclosure () -> Bool, now: Instant) -> Bool {
        guard nextDeadline <= now else { return false }
        let isServing = isServing()
        nextDeadline = now + interval / (isServing ? Watchdog.signsInInterval : Watchdog.checksInInterval)
        return isServing
    }
}
