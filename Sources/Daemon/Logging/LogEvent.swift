// An event of the log: its level, a stable word, its text and its fields. Each event is made by a function that has all
// of its facts. Events are state changes, and queries only if query logging is on. They contain no client addresses
// unless enabled, and no secrets.

import Control
import DNSWire
import LinuxIO
import Resolver
import Upstreams

struct LogEvent: Sendable {
    /// The number of equal lines within a minute that are written; further ones are only counted.
    enum Repetition: Sendable {
        /// Every line is written: results of operator actions, and details.
        case written
        /// The first six are written: state changes, which are folded only when they flap.
        case change
        /// The first one is written.
        case counted
    }

    /// The start or end of an outage of all providers, for notifications.
    enum Outage: Sendable {
        case begun([FetchFailure: Int], hasSystemResolver: Bool)
        case ended(after: Duration)
    }

    let level: LogLevel
    let text: String
    private let word: EventWord
    private let repetition: Repetition
    private let details: [String]
    private let fields: @Sendable () -> [String: LogField]
    private(set) var outage: Outage?

    /// - Parameter fields: made only for a format that shows them.
    init(
        _ level: LogLevel, _ word: EventWord, _ repetition: Repetition, _ text: String, details: [String] = [],
        _ fields: @autoclosure @escaping @Sendable () -> [String: LogField] = [:]
    ) {
        (self.level, self.word, self.repetition, self.text) = (level, word, repetition, text)
        (self.details, self.fields) = (details, fields)
    }

    /// Returns the event with an outage for notifications.
    func with(_ outage: Outage) -> LogEvent {
        var event = self
        event.outage = outage
        return event
    }

    var line: LogLine { LogLine(level, word.rawValue, text, details: details, fields: fields()) }

    /// The line without fields, for frequent events in the formats that show no fields.
    var lineWithoutFields: LogLine { LogLine(level, word.rawValue, text, details: details) }

    /// Number of equal lines per minute that are written before further ones are only counted; nil: all are written.
    var timesAtOnce: Int? {
        switch repetition {
        case .written: nil
        case .change: 6
        case .counted: 1
        }
    }

    static func list(_ items: [some CustomStringConvertible]) -> String {
        items.isEmpty ? "none" : items.map(\.description).joined(separator: ", ")
    }
}

// MARK: - start and end

extension LogEvent {
    /// Startup failed; the message may have several lines.
    static func notStarted(_ lines: [String]) -> LogEvent {
        LogEvent(
            .error, .notStarted, .written, lines.first ?? "not started", details: Array(lines.dropFirst()))
    }

    static func ready(
        listen: [String], threads: Int, providers: [String], systemServers: [String]
    ) -> LogEvent {
        LogEvent(
            .info, .ready, .written,
            "ready: listening on \(list(listen)) (UDP x\(threads), TCP); providers \(list(providers)); "
                + "system resolver \(list(systemServers))",
            [
                "listen": .list(listen), "threads": .number(threads), "providers": .list(providers),
                "system_servers": .list(systemServers),
            ])
    }

    /// Sockets that the former process left to the service manager.
    ///
    /// - Parameter closed: addresses that the settings do not name any more.
    static func socketsKept(
        addresses: [SocketAddress], connections: Int, closed: [SocketAddress], unusable: Int
    ) -> LogEvent {
        let used =
            addresses.map(\.description)
            + (connections == 0 ? [] : [counted(connections, "TCP connection", "TCP connections")])
        let parts = [
            "sockets of the former process: \(list(used)) in use",
            closed.isEmpty ? nil : "\(list(closed)) closed, because the settings do not name it",
            unusable == 0 ? nil : "\(unusable) unusable ones closed",
        ]
        return LogEvent(
            unusable == 0 ? .info : .warning, .socketsKept, .written,
            parts.compactMap(\.self).joined(separator: "; "),
            [
                "listen": .list(addresses.map(\.description)), "connections": .number(connections),
                "closed": .list(closed.map(\.description)), "unusable": .number(unusable),
            ])
    }

    static func addressLeftOut(_ failure: String) -> LogEvent {
        LogEvent(.warning, .addressLeftOut, .counted, failure)
    }

    /// - Parameter isPresent: whether an interface has this listen address. If none has, no query arrives at it.
    static func listenAddress(_ address: SocketAddress, isPresent: Bool) -> LogEvent {
        LogEvent(
            isPresent ? .info : .warning, isPresent ? .listenAddressPresent : .listenAddressMissing, .change,
            "listening on \(address)"
                + (isPresent
                    ? ": an interface has this address now"
                    : ", but no interface has this address: no query arrives until one has it"),
            ["address": .text(address.description)])
    }

    /// Privileges were dropped: started by root, the daemon now runs as this user.
    static func servesAs(user: String, userID: UInt32, groupID: UInt32) -> LogEvent {
        LogEvent(
            .info, .servesAs, .written,
            "dropped privileges: user \(user) (\(userID)), group \(groupID), no capabilities",
            ["user": .text(user), "uid": .number(Int(userID)), "gid": .number(Int(groupID))])
    }

    /// Other programs may run as the same user.
    static func sharesUser(userID: UInt32) -> LogEvent {
        LogEvent(
            .warning, .sharesUser, .written,
            "user \(userID) is shared with other programs: key files are refused, commands that change state are "
                + "for root only; \(FileReader.remedyForShared)",
            ["uid": .number(Int(userID))])
    }

    /// Unneeded system calls are not filtered.
    static func unfiltered(reason: String) -> LogEvent {
        LogEvent(
            .warning, .unfiltered, .counted,
            "no system call filter: \(reason); the limits of the unit or the container still apply",
            ["reason": .text(reason)])
    }

    /// Metrics and status page are served.
    static func pagesServed(at address: SocketAddress) -> LogEvent {
        LogEvent(
            .info, .pagesServed, .written, "metrics and the status page are at http://\(address)/",
            ["address": .text(address.description)])
    }

    /// The listener of metrics and status page is not on loopback.
    static func pagesOpen(at address: SocketAddress) -> LogEvent {
        LogEvent(
            .warning, .pagesOpen, .written,
            "every host that can reach \(address) may read metrics and the status page, without a password; set "
                + "control.metrics-listen to 127.0.0.1 to allow only this machine",
            ["address": .text(address.description)])
    }

    /// Any client on the Internet may send queries.
    static var openResolver: LogEvent {
        LogEvent(
            .warning, .openResolver, .written,
            "server.allow allows every client, so this is an open resolver if the Internet can reach it; "
                + "set server.allow to your own networks")
    }

    static func stopping(signal: String) -> LogEvent {
        LogEvent(.info, .stopping, .written, "stopping on \(signal)", ["signal": .text(signal)])
    }

    static var stopped: LogEvent { LogEvent(.info, .stopped, .written, "stopped") }
}

// MARK: - settings and operator

extension LogEvent {
    static func settingsReloaded(_ report: ReloadReport) -> LogEvent {
        LogEvent(
            .info, .settingsReloaded, .written, report.sentence, ["need_restart": .list(report.needRestart)])
    }

    static func settingsRefused(complaints: [String]) -> LogEvent {
        LogEvent(
            .error, .settingsRefused, .written, "settings not reloaded, the old ones stay in force:",
            details: complaints)
    }

    /// The operator changed the level, or its time limit has expired.
    static func levelChanged(_ report: LogLevelReport) -> LogEvent {
        LogEvent(.info, .levelChanged, .written, report.sentence, ["log_level": .text(report.level.rawValue)])
    }

    /// A proxy is configured in this environment variable.
    static func providersAvoided(variable: String) -> LogEvent {
        LogEvent(
            .info, .providersAvoided, .counted,
            "\(variable) is set and direct-only is true: queries go to the system resolver only",
            ["variable": .text(variable)])
    }

    /// The time limit of an operator's switch has expired.
    static func switchedOn(name: Name) -> LogEvent {
        LogEvent(
            .info, .switchedOn, .written,
            "providers are used again for \(name.isRoot ? "all names" : name.description)",
            ["name": .text(name.description)])
    }

    /// An operator's switch was restored after a restart.
    static func stillSwitchedOff(_ report: SwitchReport) -> LogEvent {
        LogEvent(.info, .stillSwitchedOff, .written, "httpdns is \(report.text)")
    }

    /// The time of a rule that was added at run time has passed.
    static func addedRuleEnded(_ name: Name) -> LogEvent {
        LogEvent(
            .info, .addedRuleGone, .written, "the rule added for \(name) has ended",
            ["name": .text(name.description), "reason": .text("ended")])
    }

    /// The settings do not allow a rule that was added at run time any more.
    static func addedRuleRemoved(_ name: Name, reason: String) -> LogEvent {
        LogEvent(
            .warning, .addedRuleGone, .written, "the rule added for \(name) was removed: \(reason)",
            ["name": .text(name.description), "reason": .text(reason)])
    }

    /// The settings lack the nameserver of an added rule.
    static func addedRule(_ name: Name, lacksNameserver nameserver: String) -> LogEvent {
        LogEvent(
            .warning, .addedRuleWithoutNameserver, .written,
            "names under \(name) get no answer: the rule added for them names nameserver \(nameserver), which the "
                + "settings lack; add it there, or run: httpdnsctl rule rm \(name)",
            ["name": .text(name.description), "nameserver": .text(nameserver)])
    }

    /// The store was not read in time.
    static var addedRulesLate: LogEvent {
        LogEvent(
            .warning, .addedRulesLate, .written,
            "the store is not read yet; rules that were added at run time are in force when it is")
    }

    static func query(_ report: FlightEventReport) -> LogEvent {
        LogEvent(.info, .query, .written, String(report.line.dropLast()), report.logFields)
    }

    static func queriesLeftOut(_ count: UInt64) -> LogEvent {
        LogEvent(
            .info, .queriesLeftOut, .counted, "\(count) queries not logged because of the rate limit",
            ["count": .number(Int(count))])
    }
}
