// Who watches queries as they are answered: clients of the control socket, and the log. They are told from the flight
// recorder, so that serving threads know nothing of it; while nobody watches nothing is looked at.

import Control
import LinuxIO
import Telemetry

final class QueryWatches {
    /// Beside those of operators' other commands.
    static let maxWatches = 8
    /// Of a user who may not do everything: others must find room.
    static let maxWatchesOfUser = 2
    /// How soon a query is seen.
    static let interval: Duration = .milliseconds(100)
    /// What is done in one turn, so that a flood delays nobody's answer: some milliseconds. The rest is left out, and
    /// said so.
    static let maxQueriesPerTurn = 2000
    /// Told to each who watches, and logged.
    static let maxLinesPerTurn = 500
    /// Of all patterns: a millisecond or two.
    static let maxStepsPerTurn = 1_000_000
    /// How long what waits for a reader may wait.
    static let patience: Duration = .seconds(30)

    private let records: FlightRecords
    private var watches: [Int: QueryWatch] = [:]
    private var nextNumber = 0
    /// Nil while nobody watches.
    private var walk: FlightWalk?
    private(set) var nextDeadline: Instant?
    private var logs: Logging?

    /// How queries are logged.
    struct Logging: Equatable {
        let showsClients: Bool
    }

    init(_ records: FlightRecords) {
        self.records = records
    }

    /// - Parameter logging: nil: queries are not logged.
    /// - Returns: what is still to be logged from before.
    func setLogging(_ logging: Logging?, now: Instant) -> [LogEvent] {
        guard logging != logs else { return [] }
        let rest = drain()
        logs = logging
        keepLooking(now: now)
        return rest
    }

    /// - Parameter userID: of one who may not do everything.
    func begin(
        _ pattern: NamePattern?, showsClients: Bool, wantsJSON: Bool, by userID: UInt32? = nil, now: Instant
    ) throws(Refusal) -> ControlStream {
        guard watches.count < QueryWatches.maxWatches else {
            throw Refusal("\(QueryWatches.maxWatches) clients watch already; wait for one to end", wantsJSON: wantsJSON)
        }
        if let userID, watches.values.count(where: { $0.userID == userID }) >= QueryWatches.maxWatchesOfUser {
            throw Refusal(
                "user \(userID) watches \(QueryWatches.maxWatchesOfUser) times already; end one", wantsJSON: wantsJSON)
        }
        let stream = ControlStream(silence: nil, patience: QueryWatches.patience)
        let number = nextNumber
        nextNumber += 1
        watches[number] = QueryWatch(
            pattern, showsClients: showsClients, wantsJSON: wantsJSON, by: userID, to: stream)
        stream.onGone = { [weak self] in self?.watches[number] = nil }
        keepLooking(now: now)
        return stream
    }

    /// - Returns: what is to be logged.
    func timePassed(now: Instant) -> [LogEvent] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        nextDeadline = now + QueryWatches.interval
        defer { keepLooking(now: now) }
        return drain()
    }

    /// - Returns: what is to be logged at once, before the log ends.
    func drain() -> [LogEvent] {
        walk?.extend()
        let boot = Clock.bootMicrosecondsSince1970()
        var (logged, notLogged) = ([LogEvent](), UInt64(0))
        var steps = QueryWatches.maxStepsPerTurn
        for _ in 0..<QueryWatches.maxQueriesPerTurn {
            guard steps > 0, let event = walk?.next() else { break }
            var shown = ShownQuery(event, bootMicroseconds: boot, records.words)
            for watch in watches.values { watch.take(&shown, steps: &steps) }
            guard let logs else { continue }
            if logged.count < QueryWatches.maxLinesPerTurn {
                logged.append(.query(shown.report(showsClients: logs.showsClients)))
            } else {
                notLogged += 1
            }
        }
        let leftOut = walk?.skip() ?? 0
        for watch in watches.values { watch.endTurn(leftOut: leftOut) }
        notLogged += leftOut
        return logs == nil || notLogged == 0 ? logged : logged + [.queriesLeftOut(notLogged)]
    }

    private func keepLooking(now: Instant) {
        if watches.isEmpty && logs == nil {
            walk = nil
            nextDeadline = nil
        } else if walk == nil {
            walk = FlightWalk(records, fromOldest: false, ofQueries: true)
            nextDeadline = now + QueryWatches.interval
        }
    }
}

/// A query's forms, each made once, whoever wants it.
private struct ShownQuery {
    private let event: FlightEvent
    private let bootMicroseconds: Int64
    private let words: FlightWords
    private var name: [UInt8]?
    private var reports: [FlightEventReport?] = [nil, nil]
    private var lines: [String?] = [nil, nil, nil, nil]

    init(_ event: FlightEvent, bootMicroseconds: Int64, _ words: FlightWords) {
        self.event = event
        self.bootMicroseconds = bootMicroseconds
        self.words = words
    }

    /// False when there is no name; nil when the steps are not enough.
    mutating func matches(_ pattern: NamePattern, steps: inout Int) -> Bool? {
        if name == nil { name = event.name.map(NamePattern.text) }
        guard let name else { return false }
        return pattern.matches(name, steps: &steps)
    }

    mutating func report(showsClients: Bool) -> FlightEventReport {
        if let known = reports[showsClients ? 1 : 0] { return known }
        let new = FlightEventReport(event, bootMicroseconds: bootMicroseconds, showsClients: showsClients) { words[$0] }
        reports[showsClients ? 1 : 0] = new
        return new
    }

    mutating func line(asJSON: Bool, showsClients: Bool) -> String {
        let place = (asJSON ? 2 : 0) + (showsClients ? 1 : 0)
        if let known = lines[place] { return known }
        let report = report(showsClients: showsClients)
        let new = asJSON ? report.jsonLine : report.line
        lines[place] = new
        return new
    }
}

private final class QueryWatch {
    let userID: UInt32?
    private let pattern: NamePattern?
    private let showsClients: Bool
    private let wantsJSON: Bool
    private let stream: ControlStream
    /// Of this turn.
    private var text = ""
    private var lines = 0
    /// What the watcher has not been told of, and not that either.
    private var leftOut: UInt64 = 0
    /// The longest line about what is left out.
    private static let reservedBytes = 80

    init(_ pattern: NamePattern?, showsClients: Bool, wantsJSON: Bool, by userID: UInt32?, to stream: ControlStream) {
        self.pattern = pattern
        self.showsClients = showsClients
        self.wantsJSON = wantsJSON
        self.userID = userID
        self.stream = stream
    }

    func take(_ query: inout ShownQuery, steps: inout Int) {
        if let pattern {
            switch query.matches(pattern, steps: &steps) {
            case true: break
            case false: return
            // It may be one of those that are wanted.
            default: return leftOut += 1
            }
        }
        guard lines < QueryWatches.maxLinesPerTurn else { return leftOut += 1 }
        let line = query.line(asJSON: wantsJSON, showsClients: showsClients)
        let used = text.utf8.count + line.utf8.count + QueryWatch.reservedBytes
        guard leftOut == 0, used <= stream.room else { return leftOut += 1 }
        text += line
        lines += 1
    }

    /// The line about what is left out stands where it is missing.
    func endTurn(leftOut more: UInt64) {
        leftOut += more
        if leftOut > 0, text.utf8.count + QueryWatch.reservedBytes <= stream.room {
            text +=
                wantsJSON ? "{\"left_out\":\(leftOut)}\n" : "; \(leftOut) queries came too fast and are left out\n"
            leftOut = 0
        }
        if !text.isEmpty { stream.send(text) }
        (text, lines) = ("", 0)
    }
}
