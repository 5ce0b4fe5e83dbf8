// Machine-readable parts of log events: a stable identifier for each event, and its fields apart from the text.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver
import Store

extension LogEvent {
    var line: LogLine { LogLine(level, word, text, details: details, fields: fields) }

    /// The line without fields, for frequent events in the formats that show no fields.
    var lineWithoutFields: LogLine { LogLine(level, word, text, details: details) }

    /// Number of equal lines per minute that are written before further ones are only counted; nil: all are written.
    /// Results of operator actions and details are always written. State changes are folded only when they flap.
    var timesAtOnce: Int? {
        switch self {
        case .notStarted, .ready, .servesAs, .sharesUser, .stopping, .stopped, .settingsReloaded, .settingsRefused,
            .names, .levelChanged, .switchedOn, .rule,
            .stillSwitchedOff, .storeLoaded, .pagesServed, .pagesOpen, .openResolver, .recorderWritten, .query,
            .requestFailed, .quota:
            nil
        case .providerDown, .providerUp, .providerUnresolved, .providerResolved, .providerBlocked, .providersFail,
            .providersWork, .providerThrottled,
            .providerAskedAgain, .networkLost,
            .networkChanged, .networkRecovered, .portal, .nameserver, .nameserversChanged,
            .storeFails, .storeWorks, .receiver, .addressSet, .fleet, .listenAddress:
            LogEvent.changesAtOnce
        case .addressLeftOut, .unfiltered, .probesOff, .divergence, .contradiction, .providersAvoided, .fileUnreadable,
            .storeSetAside, .recorderFails, .queriesLeftOut:
            1
        }
    }

    /// Lines that are written at once for a change: enough to show that a provider flaps.
    private static let changesAtOnce = 6

    private var word: String {
        switch self {
        case .notStarted: "not-started"
        case .ready: "ready"
        case .addressLeftOut: "address-left-out"
        case .listenAddress(_, let isPresent): isPresent ? "listen-address-present" : "listen-address-missing"
        case .servesAs: "serves-as"
        case .sharesUser: "shares-user"
        case .unfiltered: "unfiltered"
        case .pagesServed: "pages-served"
        case .pagesOpen: "pages-open"
        case .openResolver: "open-resolver"
        case .stopping: "stopping"
        case .stopped: "stopped"
        case .settingsReloaded: "settings-reloaded"
        case .settingsRefused: "settings-refused"
        case .names(let news): news.word
        case .levelChanged: "level-changed"
        case .providerDown: "provider-down"
        case .providerUp: "provider-up"
        case .providerBlocked: "provider-blocked"
        case .providerUnresolved: "provider-unresolved"
        case .providerResolved: "provider-resolved"
        case .providersFail: "providers-fail"
        case .providersWork: "providers-work"
        case .providerThrottled: "provider-throttled"
        case .providerAskedAgain: "provider-asked-again"
        case .quota: "quota"
        case .requestFailed: "request-failed"
        case .probesOff: "probes-off"
        case .divergence: "divergence"
        case .contradiction: "contradiction"
        case .providersAvoided: "providers-avoided"
        case .switchedOn: "switched-on"
        case .stillSwitchedOff: "still-switched-off"
        case .rule(let news): news.word
        case .networkLost: "network-lost"
        case .networkChanged: "network-changed"
        case .networkRecovered: "network-recovered"
        case .portal(.suspected): "portal-suspected"
        case .portal(.redirects): "portal-redirects"
        case .portal(.ended): "portal-ended"
        case .nameserver(let news): news.word
        case .nameserversChanged: "nameservers-changed"
        case .fileUnreadable: "file-unreadable"
        case .storeLoaded: "store-loaded"
        case .storeSetAside: "store-set-aside"
        case .storeFails: "store-fails"
        case .storeWorks: "store-works"
        case .addressSet(let news): news.word
        case .fleet(let news): news.word
        case .receiver(let news): if case .fails = news { "receiver-fails" } else { "receiver-works" }
        case .recorderWritten: "recorder-written"
        case .recorderFails: "recorder-fails"
        case .query: "query"
        case .queriesLeftOut: "queries-left-out"
        }
    }

    private var details: [String] {
        switch self {
        case .settingsRefused(let complaints): complaints
        case .names(let news): news.details
        case .notStarted(let lines): Array(lines.dropFirst())
        default: []
        }
    }

    private static func forged(_ source: String, _ name: Name, _ contradiction: String) -> [String: LogField] {
        ["source": .text(source), "name": .text(name.description), "reason": .text(contradiction)]
    }

    private static func used(_ quota: QuotaWarning) -> [String: LogField] {
        [
            "provider": .text(quota.provider), "questions": .number(quota.questions), "quota": .text(quota.quota),
            "used_up": .text(quota.isUsedUp ? "yes" : "no"),
        ]
    }

    private static func ready(
        _ listen: [String], _ threads: Int, _ providers: [String], _ systemServers: [String]
    ) -> [String: LogField] {
        [
            "listen": .list(listen), "threads": .number(threads), "providers": .list(providers),
            "system_servers": .list(systemServers),
        ]
    }

    private var fields: [String: LogField] {
        switch self {
        case .ready(let listen, let threads, let providers, let systemServers):
            LogEvent.ready(listen, threads, providers, systemServers)
        case .servesAs(let user, let userID, let groupID):
            ["user": .text(user), "uid": .number(Int(userID)), "gid": .number(Int(groupID))]
        case .sharesUser(let userID): ["uid": .number(Int(userID))]
        case .unfiltered(let reason): ["reason": .text(reason)]
        case .pagesServed(let address), .pagesOpen(let address), .listenAddress(let address, _):
            ["address": .text(address.description)]
        case .stopping(let signal): ["signal": .text(signal)]
        case .settingsReloaded(let report): ["need_restart": .list(report.needRestart)]
        case .levelChanged(let report): ["log_level": .text(report.level.rawValue)]
        case .providerDown(let name, let reason), .providerBlocked(let name, let reason),
            .requestFailed(let name, let reason):
            ["provider": .text(name), "reason": .text(reason)]
        case .providerUp(let name), .providerThrottled(let name), .providerAskedAgain(let name):
            ["provider": .text(name)]
        case .quota(let warning): LogEvent.used(warning)
        case .providerUnresolved(let name, let host): ["provider": .text(name), "host": .text(host)]
        case .providerResolved(let name, let host, let addresses):
            ["provider": .text(name), "host": .text(host), "addresses": .list(addresses)]
        case .divergence(let source): ["source": .text(source)]
        case .contradiction(let source, let name, let text): LogEvent.forged(source, name, text)
        case .providersAvoided(let variable): ["variable": .text(variable)]
        case .rule(let news): news.fields
        case .switchedOn(let name): ["name": .text(name.description)]
        case .networkChanged(let id, let words, let cause):
            ["network": .text(id), "words": .text(words), "cause": .text(cause.rawValue)]
        case .providersFail(let failures, let hasSystemResolver):
            [
                "failures": .list(failures.map { "\($0.key.rawValue) \($0.value)" }.sorted()),
                "system_resolver": .text(hasSystemResolver ? "answers" : "none"),
            ]
        case .providersWork(let duration), .networkRecovered(let duration):
            ["after_ms": .number(duration.wholeMilliseconds)]
        case .addressSet(let news): news.fields
        case .fleet(let news): news.fields
        case .receiver(.fails(let name, let reason)): ["receiver": .text(name), "reason": .text(reason)]
        case .receiver(.works(let name, let duration)):
            ["receiver": .text(name), "after_ms": .number(duration.wholeMilliseconds)]
        case .portal(.redirects(let host)): ["host": .text(host.description)]
        case .nameserver(let news): news.fields
        case .nameserversChanged(let nameservers, _):
            ["servers": .list(nameservers.servers.map(\.description))]
        case .names(let news): news.fields
        case .fileUnreadable(let path, _), .storeLoaded(let path, _),
            .storeSetAside(let path, _),
            .storeFails(let path, _), .storeWorks(let path), .recorderWritten(let path), .recorderFails(let path, _):
            ["path": .text(path)]
        case .query(let report): report.logFields
        case .queriesLeftOut(let count): ["count": .number(Int(count))]
        case .notStarted, .addressLeftOut, .openResolver, .stopped, .settingsRefused, .probesOff, .stillSwitchedOff,
            .networkLost, .portal(.suspected), .portal(.ended):
            [:]
        }
    }
}
