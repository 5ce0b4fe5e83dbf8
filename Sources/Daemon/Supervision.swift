// What the service manager hears of us, and when. We are alive when the main loop turns and every serving thread has
// answered the last look; a manager that hears nothing starts us again.

import LinuxIO

final class Supervision {
    private let notice: ServiceNotice
    private let threads: ServingThreads
    /// Nil: nobody waits for a sign of life.
    private var watchdog: Watchdog?
    /// What the manager had no room for, and when it is told again.
    private var unheard: (news: ServiceNotice.News, next: Instant)?

    /// Its queue is empty as soon as it gets to run.
    private static let retryPause: Duration = .milliseconds(100)

    init(_ notice: ServiceNotice, _ threads: ServingThreads, now: Instant) {
        self.notice = notice
        self.threads = threads
        watchdog = notice.watchdogInterval.map { Watchdog(interval: $0, now: now) }
    }

    var nextDeadline: Instant? { [watchdog?.nextDeadline, unheard?.next].compactMap(\.self).min() }

    func timePassed(now: Instant) {
        if let unheard, unheard.next <= now { insist(on: unheard.news, now: now) }
        guard watchdog?.timePassed(isServing: threads.haveAnswered, now: now) == true else { return }
        notice.tell(.alive)
        threads.look()
    }

    /// Every socket answers.
    func ready(_ addresses: [SocketAddress], _ providers: [Provider], now: Instant) {
        let (places, names) = (addresses.map(\.description), providers.map(\.name))
        let line = "serving on \(places.joined(separator: ", ")) from \(names.joined(separator: ", "))"
        insist(on: .ready(line), now: now)
    }

    /// A manager that never hears it would end us, or take us to be reloading for ever.
    private func insist(on news: ServiceNotice.News, now: Instant) {
        unheard = notice.tell(news) ? nil : (news, now + Supervision.retryPause)
    }

    /// `ready` follows, whatever comes of it.
    func reloading() { notice.tell(.reloading) }

    func stopping() {
        unheard = nil
        notice.tell(.stopping)
    }
}

/// When to give a sign of life.
struct Watchdog: Equatable {
    private let interval: Duration
    private(set) var nextDeadline: Instant

    /// A sign that was due twice within the interval may come late once (sd_watchdog_enabled(3)).
    private static let signsInInterval = 2
    /// A thread that is behind is looked at again before the interval is over.
    private static let looksInInterval = 8

    init(interval: Duration, now: Instant) {
        self.interval = interval
        nextDeadline = now + interval / Watchdog.signsInInterval
    }

    /// - Parameter isServing: asked only when the time has come.
    /// - Returns: whether to give one now.
    mutating func timePassed(isServing: @autoclosure () -> Bool, now: Instant) -> Bool {
        guard nextDeadline <= now else { return false }
        let isServing = isServing()
        nextDeadline = now + interval / (isServing ? Watchdog.signsInInterval : Watchdog.looksInInterval)
        return isServing
    }
}
