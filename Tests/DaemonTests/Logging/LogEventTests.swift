// Every event has a stable word for programs; an event that only repeats itself is logged once.

import Control
import DNSWire
import Network
import Resolver
import Testing

@testable import Daemon

@Suite("Events of the log")
struct LogEventTests {
    private static let events: [(LogEvent, String)] = [
        (.notStarted(["a"]), "not-started"),
        (.ready(listen: ["a"], threads: 1, providers: ["p"], systemServers: []), "ready"),
        (.servesAs(user: "a", userID: 1, groupID: 1), "serves-as"), (.unfiltered(reason: "r"), "unfiltered"),
        (.sharesUser(userID: 65_534), "shares-user"),
        (.addressLeftOut("a"), "address-left-out"),
        (.listenAddress(SocketAddress(.v4(1), port: 53), isPresent: false), "listen-address-missing"),
        (.listenAddress(SocketAddress(.v4(1), port: 53), isPresent: true), "listen-address-present"),
        (.openResolver, "open-resolver"),
        (.stopping(signal: "SIGTERM"), "stopping"), (.stopped, "stopped"),
        (.settingsReloaded(ReloadReport(needRestart: ["cache.size"])), "settings-reloaded"),
        (.settingsRefused(complaints: ["a"]), "settings-refused"),
        (.levelChanged(LogLevelReport(level: .debug, levelOfSettings: .info)), "level-changed"),
        (.providerDown(name: "a", reason: "r"), "provider-down"), (.providerUp(name: "a"), "provider-up"),
        (.providerBlocked(name: "a", reason: "r"), "provider-blocked"),
        (.providersFail([.timeout: 1], hasSystemResolver: true), "providers-fail"),
        (.providersWork(after: .seconds(1)), "providers-work"),
        (.providerThrottled(name: "a"), "provider-throttled"), (.providerAskedAgain(name: "a"), "provider-asked-again"),
        (.requestFailed(provider: "a", reason: "r"), "request-failed"), (.probesOff("r"), "probes-off"),
        (.divergence(source: "a"), "divergence"), (.providersAvoided(variable: "a"), "providers-avoided"),
        (.networkLost, "network-lost"), (.networkRecovered(after: .seconds(1)), "network-recovered"),
        (.networkChanged(id: "1", words: "w", cause: .wake), "network-changed"),
        (.portal(.suspected), "portal-suspected"), (.nameserver(.loops("a")), "nameserver-loops"),
        (.nameserver(.down(name: "a", reason: "r")), "nameserver-down"), (.nameserver(.up(name: "a")), "nameserver-up"),
        (.nameserver(.askedAgain("a")), "nameserver-asked-again"),
        (.nameserver(.silent("a")), "nameserver-silent"), (.nameserver(.replies("a")), "nameserver-replies"),
        (.nameserver(.onlyTCP("a")), "nameserver-tcp-only"),
        (.nameserver(.datagramsAgain("a")), "nameserver-udp-again"),
        (.receiverFails(name: "a", reason: "r"), "receiver-fails"),
        (.receiverWorks(name: "a", after: .seconds(1)), "receiver-works"),
        (.namesLoaded(path: "a", names: 1), "list-loaded"),
        (.namesRefused(path: "a", names: 1, complaints: ["c"]), "list-refused"),
        (.localNamesRefused(path: "a", complaints: ["c"], isWhole: true), "local-names-refused"),
        (.fileUnreadable(path: "a", reason: "r"), "file-unreadable"), (.storeWorks(path: "a"), "store-works"),
    ]

    @Test("each has a stable word, a text, and no field in the place of those of every line")
    func words() {
        for (event, word) in LogEventTests.events {
            #expect(event.line.event == word)
            #expect(!event.line.text.isEmpty)
            let reserved: Set<String> = ["time", "level", "event", "text", "details"]
            #expect(reserved.isDisjoint(with: event.line.fields.keys), "\(word)")
        }
        #expect(Set(LogEventTests.events.map(\.1)).count == LogEventTests.events.count)
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
