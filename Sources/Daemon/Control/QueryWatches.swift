// Live views of queries as they are answered, for clients of the control socket and the log. They read the flight
// recorder, which takes all events meanwhile; without views nothing is read.

import Control
import DNSWire
import LinuxIO
import Telemetry

final class QueryWatches: TimedPart {
    let timer = PartTimer()

    /// Bound on watches, which are counted apart from operators' other commands.
    static let maxWatches = 8
    /// Limit per unprivileged user, so that others find room.
    static let maxWatchesOfUser = 2
    /// Limit of all unprivileged users together, so that an operator always finds room.
    static let maxWatchesOfUsers = 6
    /// Longest delay until a query is shown.
    static let interval: Duration = .milliseconds(100)
    /// Queries read per turn, some milliseconds, so that a flood delays no answer. The others are skipped and
    /// reported as skipped.
    static let maxQueriesPerTurn = 2000
    /// Lines per turn for each client, and for the log.
    static let maxLinesPerTurn = 500
    /// Match steps of all patterns together: a millisecond or two.
    static let maxStepsPerTurn = 1_000_000
    /// How long unread output may wait for the client.
    static let patience: Duration = .seconds(30)

    /// The events to record without views; views need all.
    var scope = FlightScope.all {
        didSet { setScope() }
    }

    private let records: FlightRecords
    /// The oldest first.
    private var watches: [QueryWatch] = []
    /// The position in the flight recorder; nil without watches and logging.
    private var walk: FlightWalk?
    private(set) var nextDeadline: Instant? { didSet { timer.changed() } }
    private var logs: Logging?
    /// Queries for the log.
    private var lines: [LogEvent] = []

    /// How queries are logged.
    struct Logging: Equatable {
        let showsClients: Bool
    }

    init(_ records: FlightRecords) {
        self.records = records
    }

    /// Queries are read for the log.
    var isLogging: Bool { logs != nil }

    /// - Parameter logging: nil: queries are not logged.
    /// - Returns: log events that are still due from before.
    func setLogging(_ logging: Logging?, now: Instant) -> [LogEvent] {
        guard logging != logs else { return [] }
        let rest = drain()
        logs = logging
        keepLooking(now: now)
        return rest
    }

    /// - Parameter userID: the user, if unprivileged.
    func begin(
        _ pattern: NamePattern?, showsClients: Bool, wantsJSON: Bool, by userID: UInt32? = nil, now: Instant
    ) throws(Refusal) -> ControlStream {
        guard watches.count < QueryWatches.maxWatches else {
            throw Refusal("\(QueryWatches.maxWatches) watches are running; wait for one to end")
        }
        if let userID, watches.count(where: { $0.userID == userID }) >= QueryWatches.maxWatchesOfUser {
            throw Refusal("user \(userID) has \(QueryWatches.maxWatchesOfUser) watches running; end one")
        }
        if userID != nil, watches.count(where: { $0.userID != nil }) >= QueryWatches.maxWatchesOfUsers {
            throw Refusal(
                "unprivileged users have \(QueryWatches.maxWatchesOfUsers) watches running; wait for one to end")
        }
        let stream = ControlStream(wantsJSON: wantsJSON, silence: nil, patience: QueryWatches.patience)
        watches.append(QueryWatch(pattern, showsClients: showsClients, by: userID, to: stream))
        stream.onGone = { [weak self, unowned stream] in self?.watches.removeAll { $0.stream === stream } }
        keepLooking(now: now)
        return stream
    }

    func timePassed(now: Instant) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        nextDeadline = now + QueryWatches.interval
        lines += drain()
        keepLooking(now: now)
    }

    /// Returns the queries for the log since the last call.
    func takeLines() -> [LogEvent] { exchange(&lines, with: []) }

    /// - Returns: queries to log at once, before the log ends.
    func drain() -> [LogEvent] {
        walk?.extend()
        let boot = Clock.bootMicrosecondsSince1970()
        var (logged, notLogged) = ([LogEvent](), UInt64(0))
        var steps = QueryWatches.maxStepsPerTurn
        for _ in 0..<QueryWatches.maxQueriesPerTurn {
            guard steps > 0, let event = walk?.next() else { break }
            var shown = ShownQuery(event, bootMicroseconds: boot, records.words)
            for watch in watches { watch.take(&shown, steps: &steps) }
            guard let logs else { continue }
            if logged.count < QueryWatches.maxLinesPerTurn {
                logged.append(.query(shown.report(showsClients: logs.showsClients)))
            } else {
                notLogged += 1
            }
        }
        let leftOut = walk?.skip() ?? 0
        for watch in watches { watch.endTurn(leftOut: leftOut) }
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
        setScope()
    }

    private func setScope() { records.setScope(walk == nil ? scope : .all) }
}

/// The output forms of a query; each is made once and shared by all watches.
private struct ShownQuery {
    private let event: FlightEvent
    private let bootMicroseconds: Int64
    private let words: FlightStrings
    private var name: [UInt8]?
    private var reports: [FlightEventReport?] = [nil, nil]
    private var lines: [String?] = [nil, nil, nil, nil]

    init(_ event: FlightEvent, bootMicroseconds: Int64, _ words: FlightStrings) {
        self.event = event
        self.bootMicroseconds = bootMicroseconds
        self.words = words
    }

    /// Returns false for a query without a name; nil if the steps do not suffice.
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
    let stream: ControlStream
    /// Output of this turn.
    private var text = ""
    private var lines = 0
    /// Skipped queries that the client has not been told of.
    private var leftOut: UInt64 = 0
    /// Longest length of the line about skipped queries.
    private static let reservedBytes = 80

    init(_ pattern: NamePattern?, showsClients: Bool, by userID: UInt32?, to stream: ControlStream) {
        self.pattern = pattern
        self.showsClients = showsClients
        self.userID = userID
        self.stream = stream
    }

    func take(_ query: inout ShownQuery, steps: inout Int) {
        if let pattern {
            switch query.matches(pattern, steps: &steps) {
            case true: break
            case false: return
            // Without enough steps the query might match, so it counts as skipped.
            default: return leftOut += 1
            }
        }
        guard lines < QueryWatches.maxLinesPerTurn else { return leftOut += 1 }
        let line = query.line(asJSON: stream.wantsJSON, showsClients: showsClients)
        let used = text.utf8.count + line.utf8.count + QueryWatch.reservedBytes
        guard leftOut == 0, used <= stream.room else { return leftOut += 1 }
        text += line
        lines += 1
    }

    /// Ends the turn. A line about skipped queries takes the place of these queries in the output.
    func endTurn(leftOut more: UInt64) {
        leftOut += more
        if leftOut > 0, text.utf8.count + QueryWatch.reservedBytes <= stream.room {
            text +=
                stream.wantsJSON
                ? "{\"left_out\":\(leftOut)}\n" : "; \(leftOut) queries omitted because of the rate limit\n"
            leftOut = 0
        }
        if !text.isEmpty { stream.send(text) }
        (text, lines) = ("", 0)
    }
}
