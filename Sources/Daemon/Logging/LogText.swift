// The text of each log event, in one place so that equal events read alike.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings
import Store
import Upstreams

extension LogEvent {
    var text: String {
        switch self {
        case .notStarted(let lines): lines.first ?? "not started"
        case .levelChanged(let report): report.text
        case .ready(let listen, let threads, let providers, let systemServers):
            "ready: listening on \(list(listen)) (UDP x\(threads), TCP); providers \(list(providers)); "
                + "system resolver \(list(systemServers))"
        case .addressLeftOut(let failure): failure
        case .listenAddress(let address, let isPresent): LogEvent.listening(on: address, isPresent)
        case .servesAs(let user, let userID, let groupID): LogEvent.dropped(to: user, userID, groupID)
        case .sharesUser(let userID): LogEvent.sharing(userID)
        case .unfiltered(let reason): LogEvent.unfilteredCalls(reason)
        case .pagesServed(let address): "metrics and the status page are at http://\(address)/"
        case .pagesOpen(let address): LogEvent.open(address)
        case .openResolver: LogEvent.openResolverWarning
        case .stopping(let signal): "stopping on \(signal)"
        case .stopped: "stopped"
        case .settingsReloaded(let report): report.text
        case .settingsRefused: "settings not reloaded, the old ones stay in force:"
        case .names(let news): news.text
        case .providerDown(let name, let reason): "provider \(name) is down: \(reason)"
        case .providerUp(let name): "provider \(name) is up"
        case .providerBlocked(let name, let reason): "provider \(name) is blocked: \(reason)"
        case .providerUnresolved(let name, let host): LogEvent.unresolved(name, host)
        case .providerResolved(let name, let host, let addresses): resolved(name, host, addresses)
        case .providersFail(let failures, let hasSystem): LogEvent.outage(failures, hasSystem)
        case .providersWork(let duration): "a provider works again after \(duration.wholeSeconds) s without any"
        case .providerThrottled(let name): "provider \(name) is throttled: it asked for fewer requests"
        case .providerAskedAgain(let name): "provider \(name) is no longer throttled"
        case .quota(let warning): warning.text
        case .requestFailed(let provider, let reason): "request to \(provider) failed: \(reason)"
        case .probesOff(let problem): "addresses are not verified: \(problem)"
        case .divergence(let source): LogEvent.forged(source)
        case .contradiction(let source, let name, let text): LogEvent.forged(source, name, text)
        case .providersAvoided(let variable): LogEvent.avoiding(for: variable)
        case .switchedOn(let name): "providers are used again for \(name.isRoot ? "all names" : name.description)"
        case .rule(let news): news.text
        case .stillSwitchedOff(let report): "httpdns is \(report.text)"
        case .networkLost: "no usable route to the Internet"
        case .networkChanged(let id, let words, let cause): "network \(id) (\(words)): \(cause.reason)"
        case .networkRecovered(let duration): "first answer on the new network after \(duration.wholeMilliseconds) ms"
        case .portal(let news): text(news)
        case .nameserver(let news): news.text
        case .nameserversChanged(let nameservers, let path): text(nameservers, from: path)
        case .fileUnreadable(let path, let reason): "\(path) can't be read: \(reason)"
        case .storeLoaded(let path, let report): text(path, report)
        case .storeSetAside(let path, let setAside): LogEvent.setAside(path, setAside)
        case .storeFails(let path, let failure): "\(path) can't be used, the cache is in memory only: \(failure)"
        case .storeWorks(let path): "\(path) can be used again"
        case .receiver(let news): news.text
        case .addressSet(let news): news.text
        case .fleet(let news): news.text
        case .recorderWritten(let path): LogEvent.recorded(in: path)
        case .recorderFails(let path, let reason): "the flight recorder can't be written to \(path): \(reason)"
        case .query(let report): String(report.line.dropLast())
        case .queriesLeftOut(let count): "\(count) queries not logged because of the rate limit"
        }
    }

    private static func forged(_ source: String) -> String {
        "\(source) returned a mismatched address, another upstream a verified one; see httpdnsctl evidence"
    }

    private static func setAside(_ path: String, _ setAside: SetAside) -> String {
        "\(path) is \(setAside.finding); renamed to \(setAside.newPath), a new file was created; "
            + "switches and rules that were made at run time are lost"
    }

    private static func forged(_ source: String, _ name: Name, _ contradiction: String) -> String {
        "\(source) returned a forged answer for \(name): \(contradiction); see httpdnsctl evidence"
    }

    private static func unfilteredCalls(_ reason: String) -> String {
        "no system call filter: \(reason); the limits of the unit or the container still apply"
    }

    private static func avoiding(for variable: String) -> String {
        "\(variable) is set and direct-only is true: queries go to the system resolver only"
    }

    private static let openResolverWarning =
        "server.allow allows every client, so this is an open resolver if the Internet can reach it; "
        + "set server.allow to your own networks"

    private func text(_ news: PortalEvent) -> String {
        switch news {
        case .suspected:
            "a captive portal is suspected: every provider fails its TLS check or is redirected, and the system "
                + "resolver answers; portal detection names go to the system resolver only"
        case .redirects(let host): "the captive portal redirects to \(host)"
        case .ended(let end): "captive portal no longer suspected: \(end.rawValue)"
        }
    }

    private func text(_ path: String, _ report: LoadReport) -> String {
        let damaged = report.skipped > 0 ? ", \(report.skipped) damaged" : ""
        let left = report.leftOut > 0 ? ", \(report.leftOut) ignored" : ""
        return "\(report.restored) answers loaded from \(path) in \(report.milliseconds) ms\(left)\(damaged)"
    }

    /// Returns the text about a list of nameservers. It also names the unused ones and the reason, which an operator
    /// would otherwise search elsewhere.
    private func text(_ nameservers: NameserverList, from path: String?) -> String {
        let omitted = nameservers.omitted.map { omitted in
            let reason =
                switch omitted.why {
                case .ourselves: "an address of this daemon"
                case .repeated: "listed twice"
                case .tooMany: "more than \(NameserverList.maxServers)"
                case .resolvedStub: "systemd-resolved; its servers are used instead"
                }
            return "\(omitted.server) (\(reason))"
        }
        let unreadable = nameservers.unreadable.map { "\($0.debugDescription) (not an address)" }
        let asked =
            "system resolver: \(list(nameservers.servers.map(\.description)))"
            + (path.map { ", from \($0)" } ?? "")
        let unused = omitted + unreadable
        let unheeded = nameservers.options.unheeded
        return asked + (unused.isEmpty ? "" : "; not used: \(list(unused))")
            + (unheeded.isEmpty ? "" : "; options not followed: \(list(unheeded))")
    }

    private static func open(_ page: SocketAddress) -> String {
        "every host that can reach \(page) may read metrics and the status page, without a password; set "
            + "control.metrics-listen to 127.0.0.1 to allow only this machine"
    }

    private static func unresolved(_ provider: String, _ host: String) -> String {
        "provider \(provider) waits for an address: neither nameservers nor other providers have one for \(host)"
    }

    private func resolved(_ provider: String, _ host: String, _ addresses: [String]) -> String {
        "provider \(provider) is used: \(host) is \(list(addresses))"
    }

    private static func listening(on address: SocketAddress, _ isPresent: Bool) -> String {
        "listening on \(address)"
            + (isPresent
                ? ": an interface has this address now"
                : ", but no interface has this address: no query arrives until one has it")
    }

    /// The most frequent failure first.
    private static func outage(_ failures: [FetchFailure: Int], _ hasSystemResolver: Bool) -> String {
        let counts = failures.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            // "refused" alone would look like the response code REFUSED.
            .map { "\($0.key == .refused ? "connection refused" : $0.key.rawValue) \($0.value)" }
            .joined(separator: ", ")
        return "every provider fails (\(counts)): "
            + (hasSystemResolver ? "the system resolver answers" : "only cached answers are left")
    }

    private static func dropped(to user: String, _ userID: UInt32, _ groupID: UInt32) -> String {
        "dropped privileges: user \(user) (\(userID)), group \(groupID), no capabilities"
    }

    private static func recorded(in path: String) -> String {
        "at least half of the lookups within 10 s failed; the events before that are in "
            + "\(path), to be read with: httpdnsctl recorder read"
    }

    private static func sharing(_ userID: UInt32) -> String {
        "user \(userID) is shared with other programs: key files are refused, commands that change state are "
            + "for root only; \(FileReader.remedyForShared)"
    }

    private func list(_ items: [String]) -> String { items.isEmpty ? "none" : items.joined(separator: ", ") }
}

extension NetworkCause {
    fileprivate var reason: String {
        switch self {
        case .route: "the default route changed"
        case .vpn: "a VPN connected or disconnected"
        case .restored: "a route to the Internet is available"
        case .wake: "the machine resumed from sleep"
        case .domain: "the search domains changed"
        case .carrier: "the router uses another carrier"
        }
    }
}
