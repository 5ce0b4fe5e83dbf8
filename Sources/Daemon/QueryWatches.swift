// Who watches queries as they are answered: clients of the control socket, and the log. They are told from the flight
// recorder, so that serving threads know nothing of it; while nobody watches nothing is looked at.

import Control
import LinuxIO
import Telemetry

final class QueryWatches {
    /// Beside those of operators' other commands.
    static let maxWatches = 8
    /// How soon a query is seen.
    static let interval: Duration = .milliseconds(100)
    /// Looked at in one turn, so that a flood delays nobody's answer: some milliseconds. The rest is left out, and
    /// said so.
    static let maxEventsPerTurn = 500

    private let records: FlightRecords
    private var watches: [Int: Watch] = [:]
    private var nextNumber = 0
    /// Nil while nobody watches.
    private var walk: FlightWalk?
    private(set) var nextDeadline: Instant?
    private var logs: Logging?

    private struct Watch {
        let pattern: NamePattern?
        let showsClients: Bool
        let wantsJSON: Bool
        let stream: ControlStream
    }

    /// How queries are logged.
    struct Logging: Equatable {
        let showsClients: Bool
    }

    init(_ records: FlightRecords) {
        self.records = records
    }

    /// - Parameter logging: nil: queries are not logged.
    func setLogging(_ logging: Logging?, now: Instant) {
        logs = logging
        keepLooking(now: now)
    }

    func begin(
        _ pattern: NamePattern?, showsClients: Bool, wantsJSON: Bool, now: Instant
    ) throws(Refusal) -> ControlStream {
        guard watches.count < QueryWatches.maxWatches else {
            throw Refusal("\(QueryWatches.maxWatches) clients watch already; wait for one to end", wantsJSON: wantsJSON)
        }
        let stream = ControlStream(silence: nil)
        let number = nextNumber
        nextNumber += 1
        watches[number] = Watch(pattern: pattern, showsClients: showsClients, wantsJSON: wantsJSON, stream: stream)
        stream.onGone = { [weak self] in self?.watches[number] = nil }
        keepLooking(now: now)
        return stream
    }

    /// - Returns: what is to be logged.
    func timePassed(now: Instant) -> [LogEvent] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        nextDeadline = now + QueryWatches.interval
        defer { keepLooking(now: now) }
        walk?.extend()
        var events: [FlightEvent] = []
        for _ in 0..<QueryWatches.maxEventsPerTurn {
            guard let event = walk?.next() else { break }
            if event.kind.endsQuery { events.append(event) }
        }
        let leftOut = walk?.skip() ?? 0
        return tell(events, leftOut: leftOut)
    }

    private func tell(_ events: [FlightEvent], leftOut: UInt64) -> [LogEvent] {
        guard !events.isEmpty || leftOut > 0 else { return [] }
        let boot = Clock.bootMicrosecondsSince1970()
        let report = { [records] (event: FlightEvent, showsClients: Bool) in
            FlightEventReport(event, bootMicroseconds: boot, showsClients: showsClients) { records.words[$0] }
        }
        for watch in watches.values {
            let wanted = events.filter { event in
                watch.pattern.map { pattern in event.name.map(pattern.matches) ?? false } ?? true
            }
            let reports = wanted.map { report($0, watch.showsClients) }
            let end = leftOut == 0 ? "" : QueryWatches.leftOut(leftOut, asJSON: watch.wantsJSON)
            let text = reports.map { watch.wantsJSON ? $0.jsonLine : $0.line }.joined() + end
            if !text.isEmpty { watch.stream.send(text) }
        }
        guard let logs else { return [] }
        return events.map { .query(report($0, logs.showsClients)) } + (leftOut == 0 ? [] : [.queriesLeftOut(leftOut)])
    }

    private static func leftOut(_ count: UInt64, asJSON: Bool) -> String {
        asJSON ? "{\"left_out\":\(count)}\n" : "; \(count) events came too fast and are left out\n"
    }

    private func keepLooking(now: Instant) {
        if watches.isEmpty && logs == nil {
            walk = nil
            nextDeadline = nil
        } else if walk == nil {
            walk = FlightWalk(records, fromOldest: false)
            nextDeadline = now + QueryWatches.interval
        }
    }
}
