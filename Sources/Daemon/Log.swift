// What the daemon says to its operator: typed events, rendered in one place, to standard error. State changes, not
// traffic, unless queries are to be logged; no client addresses unless asked, nothing secret.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings
import Store

enum LogEvent {
    case ready(listen: [String], threads: Int, providers: [String], systemServers: [String])
    case addressLeftOut(String)
    case stopping(signal: String)
    case stopped
    case settingsReloaded(needRestart: [String])
    case settingsRefused(complaints: [String])
    case providerDown(name: String, reason: String)
    case providerUp(name: String)
    case providerBlocked(name: String, reason: String)
    case providerThrottled(name: String)
    case providerAskedAgain(name: String)
    case requestFailed(provider: String, reason: String)
    /// Though the settings want addresses to be verified.
    case probesOff(String)
    /// A provider, or the system resolver, led to an address that is somebody else's.
    case divergence(source: String)
    /// The variable of the environment that names a proxy.
    case providersAvoided(variable: String)
    /// The time of a switch is over.
    case switchedOn(name: Name)
    /// Kept over the restart.
    case stillSwitchedOff(SwitchReport)
    case networkLost
    case networkChanged(id: String, words: String, cause: NetworkCause)
    /// The first answer of an upstream since.
    case networkRecovered(after: Duration)
    case portal(PortalNews)
    case nameserverLoops(String)
    case nameserverAskedAgain(String)
    /// The file that they come from, where it is not the one that the settings name.
    case nameserversChanged(NameserverList, from: String?)
    case fileUnreadable(path: String, reason: String)
    case storeLoaded(path: String, LoadReport)
    case storeSetAside(path: String, SetAside)
    case storeFails(path: String, StoreFailure)
    case storeWorks(path: String)
    /// Because many clients got failures.
    case recorderWritten(path: String)
    case recorderFails(path: String, reason: String)
    case query(FlightEventReport)
    case queriesLeftOut(UInt64)

    var level: Settings.Log.Level {
        switch self {
        case .ready, .stopping, .stopped, .settingsReloaded, .providerUp, .providerThrottled, .providerAskedAgain,
            .networkLost, .networkChanged, .networkRecovered, .portal(.redirects), .portal(.ended), .nameserversChanged,
            .nameserverAskedAgain, .providersAvoided, .switchedOn, .stillSwitchedOff, .storeLoaded, .storeWorks, .query,
            .queriesLeftOut:
            .info
        case .providerDown, .providerBlocked, .portal(.suspected), .nameserverLoops, .fileUnreadable, .addressLeftOut,
            .storeSetAside, .storeFails, .probesOff, .divergence, .recorderWritten, .recorderFails:
            .warning
        case .settingsRefused: .error
        case .requestFailed: .debug
        }
    }

    var text: String {
        switch self {
        case .ready(let listen, let threads, let providers, let systemServers):
            "ready: listening on \(list(listen)) (UDP x\(threads), TCP); providers \(list(providers)); "
                + "system resolver \(list(systemServers))"
        case .addressLeftOut(let failure): failure
        case .stopping(let signal): "stopping on \(signal)"
        case .stopped: "stopped"
        case .settingsReloaded(let needRestart):
            needRestart.isEmpty
                ? "settings reloaded" : "settings reloaded; a restart is needed for \(list(needRestart))"
        case .settingsRefused(let complaints):
            "settings not reloaded, the old ones stay in force:" + complaints.map { "\n  \($0)" }.joined()
        case .providerDown(let name, let reason): "provider \(name) fails: \(reason)"
        case .providerUp(let name): "provider \(name) answers"
        case .providerBlocked(let name, let reason): "provider \(name) does not serve us and is left alone: \(reason)"
        case .providerThrottled(let name): "provider \(name) wants fewer requests and is left alone for a while"
        case .providerAskedAgain(let name): "provider \(name) is asked again"
        case .requestFailed(let provider, let reason): "a request to \(provider) failed: \(reason)"
        case .probesOff(let problem): "addresses are not verified: \(problem)"
        case .divergence(let source):
            "\(source) led to an address that is somebody else's, and another upstream did not; see httpdnsctl evidence"
        case .providersAvoided(let variable):
            "\(variable) is set and direct-only is true: no provider is asked, the system resolver serves"
        case .switchedOn(let name): "providers are asked again for \(name.isRoot ? "all names" : name.description)"
        case .stillSwitchedOff(let report): "httpdns is \(report.text)"
        case .networkLost: "no route leads out any more"
        case .networkChanged(let id, let words, let cause): "network \(id) (\(words)): \(cause.reason)"
        case .networkRecovered(let duration): "the network serves again after \(duration.wholeMilliseconds) ms"
        case .portal(.suspected):
            "a captive portal is suspected: every provider fails its TLS check or is redirected, and the system "
                + "resolver answers; it alone is asked for the names that portals are found by"
        case .portal(.redirects(let host)): "the captive portal redirects to \(host)"
        case .portal(.ended(let end)): "no captive portal is suspected any more: \(end.rawValue)"
        case .nameserverLoops(let server):
            "nameserver \(server) sends our own questions back to us; it is not asked any more"
        case .nameserverAskedAgain(let server): "nameserver \(server) leads back to us no more, and is asked again"
        case .nameserversChanged(let nameservers, let path): text(nameservers, from: path)
        case .fileUnreadable(let path, let reason): "\(path) can't be read: \(reason)"
        case .storeLoaded(let path, let report): text(path, report)
        case .storeSetAside(let path, let setAside):
            "\(path) is \(setAside.finding); it is kept as \(setAside.newPath), and a fresh one is begun"
        case .storeFails(let path, let failure): "\(path) can't be used, answers are in memory only: \(failure)"
        case .storeWorks(let path): "\(path) can be used again"
        case .recorderWritten(let path):
            "half of the clients or more get failures; what led to that is in \(path): httpdnsctl recorder read"
        case .recorderFails(let path, let reason): "the flight recorder can't be written to \(path): \(reason)"
        case .query(let report): String(report.line.dropLast())
        case .queriesLeftOut(let count): "\(count) events came too fast to be logged"
        }
    }

    private func text(_ path: String, _ report: LoadReport) -> String {
        let damaged = report.skipped > 0 ? ", \(report.skipped) damaged" : ""
        let left = report.leftOut > 0 ? ", \(report.leftOut) of no use" : ""
        return "\(report.restored) answers are back from \(path) after \(report.milliseconds) ms\(left)\(damaged)"
    }

    /// Those that are not asked are said too, or an operator would look for the reason elsewhere.
    private func text(_ nameservers: NameserverList, from path: String?) -> String {
        let omitted = nameservers.omitted.map { omitted in
            let reason =
                switch omitted.why {
                case .ourselves: "we listen there"
                case .repeated: "named twice"
                case .tooMany: "more than \(NameserverList.maxServers)"
                case .resolvedStub: "systemd-resolved, whose servers are asked"
                }
            return "\(omitted.server) (\(reason))"
        }
        let unreadable = nameservers.unreadable.map { "\($0.debugDescription) (no address)" }
        let asked =
            "system resolver is now \(list(nameservers.servers.map(\.description)))"
            + (path.map { ", from \($0)" } ?? "")
        return omitted.isEmpty && unreadable.isEmpty ? asked : "\(asked); not asked: \(list(omitted + unreadable))"
    }

    private func list(_ items: [String]) -> String { items.isEmpty ? "none" : items.joined(separator: ", ") }
}

extension LogEvent {
    /// Nil for what operators need not know.
    init?(_ change: ProviderStateChange, of provider: Provider) {
        let name = provider.name
        switch (change.from, change.to) {
        case (_, .down): self = .providerDown(name: name, reason: provider.lastReason)
        case (_, .blocked): self = .providerBlocked(name: name, reason: provider.lastReason)
        case (_, .throttled): self = .providerThrottled(name: name)
        case (.down, _), (.blocked, _): self = .providerUp(name: name)
        case (.throttled, _): self = .providerAskedAgain(name: name)
        case (.up, _), (.overBudget, _), (.unmeasured, _): return nil
        }
    }

    /// Nil for what is not news: those who use the notes say what came of them.
    init?(_ event: StoreEvent, path: String) {
        switch event {
        case .notes: return nil
        case .loaded(let report): self = .storeLoaded(path: path, report)
        case .setAside(let setAside): self = .storeSetAside(path: path, setAside)
        case .failed(let failure): self = .storeFails(path: path, failure)
        case .recovered: self = .storeWorks(path: path)
        }
    }
}

extension NetworkCause {
    fileprivate var reason: String {
        switch self {
        case .route: "another way out"
        case .vpn: "a VPN came or went"
        case .restored: "there is a way out again"
        case .wake: "the machine was asleep"
        case .domain: "other search domains"
        }
    }
}

/// Used by the main thread only.
struct Log {
    var level: Settings.Log.Level

    func callAsFunction(_ event: LogEvent) {
        guard event.level.rank <= level.rank else { return }
        StandardStreams.writeError("httpdnsd: \(event.text)\n")
    }
}

extension Settings.Log.Level {
    /// Most urgent first.
    fileprivate var rank: Int { Settings.Log.Level.allCases.firstIndex(of: self) ?? 0 }
}
