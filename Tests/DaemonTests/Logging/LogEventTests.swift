// Every event has a stable word for programs, listed in the manual; an event that only repeats itself is logged once.

import Control
import DNSWire
import Network
import Resolver
import Telemetry
import TestSupport
import Testing

@testable import Daemon
@testable import Store

@Suite("Events of the log")
struct LogEventTests {
    private static let ofDaemon: [LogEvent] = [
        .notStarted(["a"]), .ready(listen: ["a"], threads: 1, providers: ["p"], systemServers: []),
        .servesAs(user: "a", userID: 1, groupID: 1), .unfiltered(reason: "r"), .sharesUser(userID: 65_534),
        .socketsKept(addresses: [], connections: 1, closed: [], unusable: 0),
        .socketsKept(addresses: [], connections: 0, closed: [], unusable: 1),
        .addressLeftOut("a"), .listenAddress(SocketAddress(.v4(1), port: 53), isPresent: false),
        .listenAddress(SocketAddress(.v4(1), port: 53), isPresent: true), .openResolver,
        .pagesServed(at: SocketAddress(.v4(1), port: 1)), .pagesOpen(at: SocketAddress(.v4(1), port: 1)),
        .stopping(signal: "SIGTERM"), .stopped, .settingsReloaded(ReloadReport(needRestart: ["cache.size"])),
        .settingsRefused(complaints: ["a"]),
        .levelChanged(LogLevelReport(level: .debug, levelOfSettings: .info)), .providersAvoided(variable: "a"),
        .switchedOn(name: .root), .stillSwitchedOff(SwitchReport(scope: ".")), .addedRuleEnded(.root),
        .addedRuleRemoved(.root, reason: "r"), .addedRule(.root, lacksNameserver: "n"), .addedRulesLate,
        .queriesLeftOut(1),
        .query(
            FlightEventReport(FlightEvent(.answered, nanoseconds: 1), bootMicroseconds: 0, showsClients: true) { _ in ""
            }),
        .namesLoaded(path: "a", names: 1), .namesRefused(path: "a", names: 1, complaints: ["c"]),
        .localNamesRefused(path: "a", complaints: ["c"], isWhole: true), .accountLeftOut(complaints: ["c"]),
        .listsUnwatched(reason: "r"), .fileUnreadable(path: "a", reason: "r"), .recorderWritten(path: "a"),
        .recorderFails(path: "a", reason: "r"), .storeLoaded(path: "a", LoadReport()),
        .storeSetAside(path: "a", SetAside(path: "a", newPath: "b", finding: "f")), .storeWorks(path: "a"),
        .storeFails(path: "a", .full),
        .receiverFails(name: "a", reason: "r"), .receiverWorks(name: "a", after: .seconds(1)),
    ]
    private static let question = Question(.root, .a)
    private static let doubt = Doubt(denial: .noData, source: .system, since: .testStart, until: .testStart)
    private static let ofUpstreams: [LogEvent] = [
        .providerDown(name: "a", reason: "r"), .providerUp(name: "a"), .providerBlocked(name: "a", reason: "r"),
        .providersFail([.timeout: 1], hasSystemResolver: true), .providersWork(after: .seconds(1)),
        .providerThrottled(name: "a"), .providerAskedAgain(name: "a"), .providerUnresolved(name: "a", host: "h"),
        .providerResolved(name: "a", host: "h", ["x"]), .requestFailed(provider: "a", reason: "r"), .probesOff("r"),
        .quota(QuotaWarning(provider: "a", questions: 1, quota: "1/day", isUsedUp: true)), .divergence(source: "a"),
        .contradiction(source: "a", name: .root, "r"), .doubt(.given(question, doubt)) { _ in "a" },
        .doubt(.believed(question, doubt, .time)) { _ in "a" },
        .doubt(.confirmed(question, doubt, by: .system)) { _ in "a" },
        .doubt(.forgotten(question, doubt)) { _ in "a" }, .networkLost,
        .networkRecovered(after: .seconds(1)),
        .networkChanged(id: "1", words: "w", cause: .wake), .portal(.suspected), .portal(.redirects(.root)),
        .portal(.ended(.verified)), .nameserver(.down(name: "a", reason: "r")), .nameserver(.up(name: "a")),
        .nameserver(.loops("a")), .nameserver(.askedAgain("a")), .nameserver(.silent("a")),
        .nameserver(.replies("a")), .nameserver(.onlyTCP("a")), .nameserver(.datagramsAgain("a")),
        .nameserver(.announced(AnnouncingLink(interface: "a", servers: [], domains: []), ignored: [])),
        .nameserver(.linkEnded("a")),
        .nameserversChanged(NameserverList(resolvConf: [], without: ListenAddresses([])), from: nil),
        .fleet(redisLost: "a", reason: "r"), .fleet(redisWorks: "a"), .setHelperGone(socket: "a", reason: "r"),
        .setHelperWorks,
    ]
    private static let ofSets: [LogEvent] =
        AddressSet("ip#t#s").map { set in
            [.setReady(set, .a), .setFaulty(set, fault: "f"), .elementsRefused(set, reason: "r")]
        } ?? []
    private static let lines = (ofDaemon + ofUpstreams + ofSets).map(\.line)

    @Test("each has a text, and no field in the place of those of every line")
    func texts() {
        for line in LogEventTests.lines {
            #expect(!line.text.isEmpty)
            let reserved: Set<String> = ["time", "level", "event", "text", "details"]
            #expect(reserved.isDisjoint(with: line.fields.keys), "\(line.event)")
        }
    }

    @Test("httpdnsd(8) has each event with its level and fields, and no other")
    func manual() throws {
        let rows = try EventRow.inManual()
        #expect(rows.map(\.word).sorted() == EventWord.allCases.map(\.rawValue).sorted())
        let lines = Dictionary(grouping: LogEventTests.lines, by: \.event)
        // The line of the writer is no event, and a query has the fields that are known of it.
        #expect(Set(rows.map(\.word)).subtracting(lines.keys) == [EventWord.logLinesDropped.rawValue])
        for row in rows {
            guard let lines = lines[row.word] else { continue }
            #expect(row.levels == Set(lines.map(\.level.rawValue)), "\(row.word)")
            let fields = lines.reduce(into: Set<String>()) { $0.formUnion($1.fields.keys) }
            #expect(row.word == "query" ? fields.isSubset(of: row.fields) : fields == row.fields, "\(row.word)")
        }
    }

    @Test("what the operator does is answered each time, and what only repeats itself is said once")
    func folding() {
        #expect(LogEvent.settingsReloaded(ReloadReport(needRestart: [])).timesAtOnce == nil)
        #expect(LogEvent.requestFailed(provider: "a", reason: "r").timesAtOnce == nil)
        #expect(LogEvent.divergence(source: "a").timesAtOnce == 1)
        #expect((LogEvent.providerDown(name: "a", reason: "r").timesAtOnce ?? 0) > 1)
    }

    @Test("an answer of a provider can't forge a line")
    func hostile() {
        let line = LogEvent.requestFailed(provider: "a", reason: "x\nhttpdnsd: ready\u{1B}[2J").line
        #expect(line.plain == #"httpdnsd: request to a failed: x\nhttpdnsd: ready\u{1B}[2J"# + "\n")
        #expect(line.fields["reason"] == .text(#"x\nhttpdnsd: ready\u{1B}[2J"#))
    }

    @Test("complaints about settings are details of one event")
    func complaints() {
        let line = LogEvent.settingsRefused(complaints: ["f:1:2: no", "f:2:2: no"]).line
        #expect(line.level == .error)
        #expect(line.details == ["f:1:2: no", "f:2:2: no"])
    }
}

/// A row of the table of events in httpdnsd(8).
private struct EventRow {
    let word: String
    let levels: Set<String>
    let fields: Set<String>

    static func inManual() throws -> [EventRow] {
        let top = (0..<4).reduce(#filePath) { path, _ in TestFile.folder(of: path) }
        let page = String(decoding: try TestFile.bytes(at: "\(top)/etc/man/httpdnsd.8"), as: UTF8.self)
        let table = try #require(page.split(separator: "event|meaning\n").last?.split(separator: ".TE\n").first)
        return table.split(separator: "T}\n").compactMap { row in
            let lines = row.split(separator: "\n")
            let words = { (key: String) in
                let line = lines.first { $0.hasPrefix("\(key): ") }?.dropFirst(key.count + 2).dropLast()
                return Set(line?.split(separator: ", ").map(String.init) ?? [])
            }
            return lines.first.map { first in
                EventRow(
                    word: first.prefix { $0 != "|" }.filter { $0 != "\\" }, levels: words("Level"),
                    fields: words("Fields"))
            }
        }
    }
}
