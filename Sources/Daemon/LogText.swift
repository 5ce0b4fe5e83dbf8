// The text of each log event, in one place so that equal events read alike.

import Control
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings
import Store

extension LogEvent {
    var text: String {
        switch self {
        case .notStarted(let lines): lines.first ?? "not started"
        case .levelChanged(let report): report.text
        case .ready(let listen, let threads, let providers, let systemServers):
            "ready: listening on \(list(listen)) (UDP x\(threads), TCP); providers \(list(providers)); "
                + "system resolver \(list(systemServers))"
        case .addressLeftOut(let failure): failure
        case .servesAs(let user, let userID, let groupID):
            "serving as user \(user) (\(userID)), group \(groupID), without any right of root"
        case .sharesUser(let userID): LogEvent.sharing(userID)
        case .unfiltered(let reason):
            "system calls that are of no use are not refused: \(reason); what the unit or the container forbids holds"
        case .pagesServed(let address): "metrics and the status page are at http://\(address)/"
        case .pagesOpen(let address):
            "everybody who reaches \(address) may read metrics and the status page, without a password; set "
                + "control.metrics-listen to 127.0.0.1 for this machine alone"
        case .openResolver:
            "server.allow lets everybody ask who reaches the listen addresses: an open resolver, if the Internet does; "
                + "set it to your own networks"
        case .stopping(let signal): "stopping on \(signal)"
        case .stopped: "stopped"
        case .settingsReloaded(let report): report.text
        case .settingsRefused:
            "settings not reloaded, the old ones stay in force:"
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
        case .portal(let news): text(news)
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
            "half of the answers that needed an upstream within 10 s, or more, are failures; what led to that is in "
                + "\(path): httpdnsctl recorder read"
        case .recorderFails(let path, let reason): "the flight recorder can't be written to \(path): \(reason)"
        case .query(let report): String(report.line.dropLast())
        case .queriesLeftOut(let count): "\(count) queries came too fast to be logged"
        }
    }

    private func text(_ news: PortalNews) -> String {
        switch news {
        case .suspected:
            "a captive portal is suspected: every provider fails its TLS check or is redirected, and the system "
                + "resolver answers; it alone is asked for the names that portals are found by"
        case .redirects(let host): "the captive portal redirects to \(host)"
        case .ended(let end): "no captive portal is suspected any more: \(end.rawValue)"
        }
    }

    private func text(_ path: String, _ report: LoadReport) -> String {
        let damaged = report.skipped > 0 ? ", \(report.skipped) damaged" : ""
        let left = report.leftOut > 0 ? ", \(report.leftOut) of no use" : ""
        return "\(report.restored) answers are back from \(path) after \(report.milliseconds) ms\(left)\(damaged)"
    }

    /// Also names the unused nameservers and the reason, which an operator would otherwise search elsewhere.
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

    private static func sharing(_ userID: UInt32) -> String {
        "user \(userID) is shared with other programs: key files are refused, commands that change something are "
            + "root's alone; \(ServingUser.remedyForShared)"
    }

    private func list(_ items: [String]) -> String { items.isEmpty ? "none" : items.joined(separator: ", ") }
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
