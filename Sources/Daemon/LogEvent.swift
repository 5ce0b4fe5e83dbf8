// What the daemon says to its operator, as typed events: what happened, how urgent it is, and its words. State changes,
// not traffic, unless queries are to be logged; no client addresses unless asked, nothing secret.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings
import Store

enum LogEvent {
    /// The daemon does not start: in as many lines as it takes.
    case notStarted([String])
    case ready(listen: [String], threads: Int, providers: [String], systemServers: [String])
    case addressLeftOut(String)
    /// Root has started us, and we are not root's any more.
    case servesAs(user: String, userID: UInt32, groupID: UInt32)
    /// Other programs may run as the same user.
    case sharesUser(userID: UInt32)
    /// System calls that we have no use for could be used.
    case unfiltered(reason: String)
    /// Metrics and status page.
    case pagesServed(at: SocketAddress)
    /// Not on loopback.
    case pagesOpen(at: SocketAddress)
    /// Everybody on the Internet may ask.
    case openResolver
    case stopping(signal: String)
    case stopped
    case settingsReloaded(ReloadReport)
    case settingsRefused(complaints: [String])
    /// By the operator, or because the time for that is over.
    case levelChanged(LogLevelReport)
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

    var level: LogLevel {
        switch self {
        case .ready, .servesAs, .pagesServed, .stopping, .stopped, .settingsReloaded, .levelChanged, .providerUp,
            .providerThrottled, .providerAskedAgain, .networkLost, .networkChanged, .networkRecovered,
            .portal(.redirects), .portal(.ended), .nameserversChanged, .nameserverAskedAgain, .providersAvoided,
            .switchedOn, .stillSwitchedOff, .storeLoaded, .storeWorks, .query, .queriesLeftOut:
            .info
        case .sharesUser, .unfiltered, .pagesOpen, .openResolver, .providerDown, .providerBlocked, .portal(.suspected),
            .nameserverLoops,
            .fileUnreadable,
            .addressLeftOut, .storeSetAside, .storeFails, .probesOff, .divergence, .recorderWritten, .recorderFails:
            .warning
        case .settingsRefused, .notStarted: .error
        case .requestFailed: .debug
        }
    }
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
