// Log events as typed values: what happened, its level and its fields. Reports state changes, and queries only if query
// logging is on. Contains no client addresses unless enabled, and no secrets.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings
import Store

enum LogEvent {
    /// Startup failed; the message may have several lines.
    case notStarted([String])
    case ready(listen: [String], threads: Int, providers: [String], systemServers: [String])
    case addressLeftOut(String)
    /// Whether an interface has this listen address. If none has, no query arrives at it.
    case listenAddress(SocketAddress, isPresent: Bool)
    /// Privileges were dropped: started by root, the daemon now runs as this user.
    case servesAs(user: String, userID: UInt32, groupID: UInt32)
    /// Other programs may run as the same user.
    case sharesUser(userID: UInt32)
    /// Unneeded system calls are not filtered.
    case unfiltered(reason: String)
    /// Metrics and status page are served.
    case pagesServed(at: SocketAddress)
    /// The listener of metrics and status page is not on loopback.
    case pagesOpen(at: SocketAddress)
    /// Any client on the Internet may send queries.
    case openResolver
    case stopping(signal: String)
    case stopped
    case settingsReloaded(ReloadReport)
    case settingsRefused(complaints: [String])
    /// The operator changed the level, or its time limit has expired.
    case levelChanged(LogLevelReport)
    case providerDown(name: String, reason: String)
    case providerUp(name: String)
    /// No nameserver and no other provider has an address of its host name.
    case providerUnresolved(name: String, host: String)
    case providerResolved(name: String, host: String, [String])
    case providerBlocked(name: String, reason: String)
    /// No provider works; the number of providers by their last failure.
    case providersFail([FetchFailure: Int], hasSystemResolver: Bool)
    /// The end of `providersFail`.
    case providersWork(after: Duration)
    case providerThrottled(name: String)
    case providerAskedAgain(name: String)
    /// 80 % of the account's quota, or all of it.
    case quota(QuotaWarning)
    case requestFailed(provider: String, reason: String)
    /// Address verification is off although the settings enable it.
    case probesOff(String)
    /// A probe found the address from this source mismatched, while another source's address was verified.
    case divergence(source: String)
    /// An answer contradicts the rule for its name, in the way that the text says.
    case contradiction(source: String, name: Name, String)
    /// A proxy is configured in this environment variable.
    case providersAvoided(variable: String)
    /// The time limit of an operator's switch has expired.
    case switchedOn(name: Name)
    /// An operator's switch was restored after a restart.
    case stillSwitchedOff(SwitchReport)
    /// News of rules that were added at run time, and of the lists of rules.
    case rule(RuleNews)
    case networkLost
    case networkChanged(id: String, words: String, cause: NetworkCause)
    /// The first upstream answer after a network change.
    case networkRecovered(after: Duration)
    case portal(PortalEvent)
    case nameserver(NameserverNews)
    /// The path is the nameservers' file if it differs from the one in the settings.
    case nameserversChanged(NameserverList, from: String?)
    case receiver(ReceiverNews)
    case addressSet(AddressSetNews)
    case fleet(FleetNews)
    /// A list of names for rules was read after a change.
    case names(NameFileNews)
    case fileUnreadable(path: String, reason: String)
    case storeLoaded(path: String, LoadReport)
    case storeSetAside(path: String, SetAside)
    case storeFails(path: String, StoreFailure)
    case storeWorks(path: String)
    /// The flight recorder was written after many clients got failures.
    case recorderWritten(path: String)
    case recorderFails(path: String, reason: String)
    case query(FlightEventReport)
    case queriesLeftOut(UInt64)

    var level: LogLevel {
        switch self {
        case .ready, .servesAs, .pagesServed, .stopping, .stopped, .settingsReloaded, .levelChanged,
            .providerUp,
            .providerResolved,
            .providersWork,
            .providerThrottled, .providerAskedAgain, .networkLost, .networkChanged, .networkRecovered,
            .portal(.redirects), .portal(.ended), .nameserversChanged, .nameserver(.askedAgain), .nameserver(.up),
            .nameserver(.replies), .nameserver(.onlyTCP), .nameserver(.datagramsAgain), .nameserver(.announced),
            .nameserver(.linkEnded),
            .providersAvoided,
            .switchedOn, .stillSwitchedOff, .rule(.ended), .storeLoaded, .storeWorks,
            .receiver(.works), .addressSet(.helperWorks), .addressSet(.setReady), .fleet(.redisWorks), .query,
            .queriesLeftOut,
            .listenAddress(_, isPresent: true):
            .info
        case .sharesUser, .unfiltered, .pagesOpen, .openResolver, .providerDown, .providerBlocked, .providerUnresolved,
            .providersFail, .portal(.suspected), .nameserver(.loops), .nameserver(.down), .nameserver(.silent),
            .fileUnreadable, .quota,
            .addressLeftOut, .listenAddress(_, isPresent: false), .storeSetAside, .storeFails, .probesOff, .divergence,
            .contradiction, .rule, .recorderWritten, .recorderFails, .receiver(.fails),
            .addressSet, .fleet:
            .warning
        case .settingsRefused, .notStarted: .error
        case .names(let news): news.level
        case .requestFailed: .debug
        }
    }
}

extension LogEvent {
    /// Returns nil for events that are not logged: the readers of the notes log their effects.
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
