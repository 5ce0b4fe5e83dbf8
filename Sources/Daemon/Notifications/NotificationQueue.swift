// The events for one receiver: which are kept, and when the next POST is due. Pure: events and time in, batches out.
//
// Invariants: at most one batch is in flight. A batch keeps its events and its number until the receiver accepts it or
// all its tries have failed; newer events wait meanwhile.

import Control
import DNSWire

struct NotificationQueue {
    /// Bound on waiting events, about 1 KiB each. A forging network yields some events per second at most, so they last
    /// for minutes.
    static let maxWaiting = 256
    /// Events per POST, which keeps a body below 100 KiB.
    static let maxBatch = 64
    /// Later events within this time share the POST.
    static let gatherTime: Duration = .seconds(1)
    /// Pause from the end of a POST to the next one; also the first back-off.
    static let pause: Duration = .seconds(5)
    static let maxPause: Duration = .seconds(600)
    /// Tries per batch: with the back-off, they take 50 minutes.
    static let maxTries = 12
    /// Pause between two checks for a route to the receiver. The checks are no tries: nothing is sent.
    static let routePause: Duration = .seconds(30)

    struct Batch {
        /// The number of the batch, counted from 1.
        let number: Int
        let events: [NotificationReport.Event]
        fileprivate(set) var tries = 0
    }

    private var waiting: [NotificationReport.Event] = []
    private var batch: Batch?
    private var isInFlight = false
    private var batches = 0
    /// When the next POST is due; nil while a POST is in flight or nothing is to be sent.
    private var dueAt: Instant?
    /// The end of the pause after the last POST.
    private var pausedUntil: Instant?
    /// POSTs that failed since the last one that was accepted.
    private(set) var failures = 0
    private var failingSince: Instant?
    private(set) var accepted: UInt64 = 0
    private(set) var dropped: UInt64 = 0

    var nextDeadline: Instant? { dueAt }
    var isFailing: Bool { failingSince != nil }
    /// Events that are neither accepted nor dropped.
    var count: Int { waiting.count + (batch?.events.count ?? 0) }

    mutating func add(_ event: NotificationReport.Event, now: Instant) {
        if waiting.count == NotificationQueue.maxWaiting {
            waiting.removeFirst()
            dropped += 1
        }
        waiting.append(event)
        guard !isInFlight, dueAt == nil else { return }
        let gathered = now + NotificationQueue.gatherTime
        dueAt = max(gathered, pausedUntil ?? gathered)
    }

    /// Returns the batch to send now, if one is due. `end` must follow.
    mutating func begin(now: Instant) -> Batch? {
        guard let due = dueAt, due <= now else { return nil }
        if batch == nil {
            batches += 1
            batch = Batch(number: batches, events: Array(waiting.prefix(NotificationQueue.maxBatch)))
            waiting.removeFirst(min(waiting.count, NotificationQueue.maxBatch))
        }
        batch?.tries += 1
        dueAt = nil
        isInFlight = true
        return batch
    }

    /// Ends the POST in flight.
    ///
    /// - Returns: nil unless the receiver begins or ceases to fail.
    mutating func end(isAccepted: Bool, now: Instant) -> Change? {
        guard isInFlight, let sent = batch else { return nil }
        isInFlight = false
        defer { pause(for: backOff, now: now) }
        guard isAccepted else {
            failures += 1
            if sent.tries == NotificationQueue.maxTries {
                dropped += UInt64(sent.events.count)
                batch = nil
            }
            guard failingSince == nil else { return nil }
            failingSince = now
            return .fails
        }
        accepted += UInt64(sent.events.count)
        batch = nil
        failures = 0
        defer { failingSince = nil }
        return failingSince.map { .works(after: $0.duration(to: now)) }
    }

    enum Change: Equatable {
        case fails
        case works(after: Duration)
    }

    /// Checks again later: no route leads to the receiver.
    mutating func postpone(now: Instant) {
        if dueAt != nil { dueAt = now + NotificationQueue.routePause }
    }

    /// Ends a long pause: the network works again or the settings changed, so the receiver may accept events again.
    mutating func hasten(now: Instant) {
        guard let due = dueAt else { return }
        dueAt = min(due, now + NotificationQueue.pause)
    }

    private mutating func pause(for duration: Duration, now: Instant) {
        pausedUntil = now + duration
        dueAt = batch == nil && waiting.isEmpty ? nil : pausedUntil
    }

    /// The pause after failures, which doubles with every failure.
    private var backOff: Duration {
        let doublings = min(max(0, failures - 1), 10)
        return min(NotificationQueue.pause * (1 << doublings), NotificationQueue.maxPause)
    }
}
