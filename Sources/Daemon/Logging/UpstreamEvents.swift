// The events of the log about upstreams and networks: providers, nameservers, the fleet.

import Control
import DNSWire
import Network
import Resolver
import Upstreams

// MARK: - providers

extension LogEvent {
    static func providerDown(name: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, .providerDown, .change, "provider \(name) is down: \(reason)",
            ["provider": .text(name), "reason": .text(reason)])
    }

    static func providerUp(name: String) -> LogEvent {
        LogEvent(.info, .providerUp, .change, "provider \(name) is up", ["provider": .text(name)])
    }

    /// No nameserver and no other provider has an address of its host name.
    static func providerUnresolved(name: String, host: String) -> LogEvent {
        LogEvent(
            .warning, .providerUnresolved, .change,
            "provider \(name) waits for an address: neither nameservers nor other providers have one for \(host)",
            ["provider": .text(name), "host": .text(host)])
    }

    static func providerResolved(name: String, host: String, _ addresses: [String]) -> LogEvent {
        LogEvent(
            .info, .providerResolved, .change, "provider \(name) is used: \(host) is \(list(addresses))",
            ["provider": .text(name), "host": .text(host), "addresses": .list(addresses)])
    }

    static func providerBlocked(name: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, .providerBlocked, .change, "provider \(name) is blocked: \(reason)",
            ["provider": .text(name), "reason": .text(reason)])
    }

    /// No provider works; the number of providers by their last failure.
    static func providersFail(_ failures: [FetchFailure: Int], hasSystemResolver: Bool) -> LogEvent {
        // The most frequent failure comes first.
        let counts = failures.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            // "refused" alone would look like the response code REFUSED.
            .map { "\($0.key == .refused ? "connection refused" : $0.key.rawValue) \($0.value)" }
            .joined(separator: ", ")
        return LogEvent(
            .warning, .providersFail, .change,
            "every provider fails (\(counts)): "
                + (hasSystemResolver ? "the system resolver answers" : "only cached answers are left"),
            [
                "failures": .list(failures.map { "\($0.key.rawValue) \($0.value)" }.sorted()),
                "system_resolver": .text(hasSystemResolver ? "answers" : "none"),
            ]
        ).with(.begun(failures, hasSystemResolver: hasSystemResolver))
    }

    /// The end of `providersFail`.
    static func providersWork(after duration: Duration) -> LogEvent {
        LogEvent(
            .info, .providersWork, .change, "a provider works again after \(duration.wholeSeconds) s without any",
            ["after_ms": .number(duration.wholeMilliseconds)]
        ).with(.ended(after: duration))
    }

    static func providerThrottled(name: String) -> LogEvent {
        LogEvent(
            .info, .providerThrottled, .change, "provider \(name) is throttled: it asked for fewer requests",
            ["provider": .text(name)])
    }

    static func providerAskedAgain(name: String) -> LogEvent {
        LogEvent(
            .info, .providerAskedAgain, .change, "provider \(name) is no longer throttled",
            ["provider": .text(name)])
    }

    /// 80 % of the account's quota, or all of it.
    static func quota(_ warning: QuotaWarning) -> LogEvent {
        LogEvent(
            .warning, .quota, .written, warning.text,
            [
                "provider": .text(warning.provider), "questions": .number(warning.questions),
                "quota": .text(warning.quota), "used_up": .text(warning.isUsedUp ? "yes" : "no"),
            ])
    }

    static func requestFailed(provider: String, reason: String) -> LogEvent {
        LogEvent(
            .debug, .requestFailed, .written, "request to \(provider) failed: \(reason)",
            ["provider": .text(provider), "reason": .text(reason)])
    }

    /// Returns nil for state changes that are not logged.
    init?(_ change: ProviderStateChange, of provider: Provider) {
        let name = provider.name
        switch (change.from, change.to) {
        case (_, .down): self = .providerDown(name: name, reason: provider.counts.lastReason)
        case (_, .blocked): self = .providerBlocked(name: name, reason: provider.counts.lastReason)
        case (_, .throttled): self = .providerThrottled(name: name)
        case (.down, _), (.blocked, _): self = .providerUp(name: name)
        case (.throttled, _): self = .providerAskedAgain(name: name)
        case (.up, _), (.overBudget, _), (.overQuota, _), (.unmeasured, _), (_, .unresolved), (.unresolved, _):
            return nil
        }
    }
}

// MARK: - verification

extension LogEvent {
    /// Address verification is off although the settings enable it.
    static func probesOff(_ problem: String) -> LogEvent {
        LogEvent(.warning, .probesOff, .counted, "addresses are not verified: \(problem)")
    }

    /// A probe found the address from this source mismatched, while another source's address was verified.
    static func divergence(source: String) -> LogEvent {
        LogEvent(
            .warning, .divergence, .counted,
            "\(source) returned a mismatched address, another upstream a verified one; see httpdnsctl evidence",
            ["source": .text(source)])
    }

    /// An answer contradicts the rule for its name, in the way that the text says.
    static func contradiction(source: String, name: Name, _ contradiction: String) -> LogEvent {
        LogEvent(
            .warning, .contradiction, .counted,
            "\(source) returned a forged answer for \(name): \(contradiction); see httpdnsctl evidence",
            ["source": .text(source), "name": .text(name.description), "reason": .text(contradiction)])
    }
}

extension LogEvent {
    /// Clients get a last known good answer that an upstream denies, or do not any more: once per episode.
    static func doubt(_ news: DoubtNews, nameOfSource: (Source) -> String) -> LogEvent {
        let (question, doubt): (Question, Doubt)
        var (text, word) = ("", EventWord.lastKnownGoodEnded)
        switch news {
        case .given(let asked, let begun):
            (question, doubt, word) = (asked, begun, .lastKnownGood)
            text = "the last known good answer to \(asked) is given: \(nameOfSource(begun.source)) says"
            text += " \(begun.denial.rawValue), and no other provider has replied"
        case .believed(let asked, let begun, let end):
            (question, doubt) = (asked, begun)
            text = "the last known good answer to \(asked) is not given any more: \(end.rawValue)"
        case .confirmed(let asked, let begun, let source):
            (question, doubt) = (asked, begun)
            text = "the last known good answer to \(asked) is confirmed: \(nameOfSource(source)) has records"
        case .forgotten(let asked, let begun):
            (question, doubt) = (asked, begun)
            text = "the last known good answer to \(asked) is not given any more: it was removed from the cache"
        }
        let source = nameOfSource(doubt.source)
        return LogEvent(
            .info, word, .change, text,
            [
                "name": .text(question.name.description), "type": .text(question.type.description),
                "source": .text(source), "denial": .text(doubt.denial.rawValue),
            ])
    }
}

// MARK: - networks

extension LogEvent {
    static var networkLost: LogEvent {
        LogEvent(.info, .networkLost, .change, "no usable route to the Internet")
    }

    static func networkChanged(id: String, words: String, cause: NetworkCause) -> LogEvent {
        let reason =
            switch cause {
            case .route: "the default route changed"
            case .vpn: "a VPN connected or disconnected"
            case .restored: "a route to the Internet is available"
            case .wake: "the machine resumed from sleep"
            case .domain: "the search domains changed"
            case .carrier: "the router uses another carrier"
            }
        return LogEvent(
            .info, .networkChanged, .change, "network \(id) (\(words)): \(reason)",
            ["network": .text(id), "words": .text(words), "cause": .text(cause.rawValue)])
    }

    /// The first upstream answer after a network change.
    static func networkRecovered(after duration: Duration) -> LogEvent {
        LogEvent(
            .info, .networkRecovered, .change,
            "first answer on the new network after \(duration.wholeMilliseconds) ms",
            ["after_ms": .number(duration.wholeMilliseconds)])
    }

    static func portal(_ event: PortalEvent) -> LogEvent {
        switch event {
        case .suspected:
            LogEvent(
                .warning, .portalSuspected, .change,
                "a captive portal is suspected: every provider fails its TLS check or is redirected, and the system "
                    + "resolver answers; portal detection names go to the system resolver only")
        case .redirects(let host):
            LogEvent(
                .info, .portalRedirects, .change, "the captive portal redirects to \(host)",
                ["host": .text(host.description)])
        case .ended(let end):
            LogEvent(.info, .portalEnded, .change, "captive portal no longer suspected: \(end.rawValue)")
        }
    }
}

// MARK: - nameservers and fleet

/// An event of a nameserver: the operator's, by name, or the system's, by address.
enum NameserverNews {
    /// Every server of the operator's nameserver fails.
    case down(name: String, reason: String)
    case up(name: String)
    /// A server of the system forwards queries back to this daemon.
    case loops(String)
    case askedAgain(String)
    /// A server does not reply, but another one does.
    case silent(String)
    case replies(String)
    /// UDP to a server is blocked.
    case onlyTCP(String)
    case datagramsAgain(String)
    /// A link's servers answer for domains from now on.
    ///
    /// - Parameter ignored: announced domains that the link has no claim to.
    case announced(AnnouncingLink, ignored: [Name])
    /// The link with this name announces nothing any more.
    case linkEnded(String)

    init(_ news: NameserverStandings.News) {
        self =
            switch news {
            case .silent(let server): .silent(server.description)
            case .replies(let server): .replies(server.description)
            case .onlyStreams(let server): .onlyTCP(server.description)
            case .datagramsAgain(let server): .datagramsAgain(server.description)
            }
    }
}

extension LogEvent {
    static func nameserver(_ news: NameserverNews) -> LogEvent {
        switch news {
        case .down(let name, let reason):
            LogEvent(
                .warning, .nameserverDown, .change, "nameserver \(name) is down: \(reason)",
                ["nameserver": .text(name), "reason": .text(reason)])
        case .up(let name):
            LogEvent(.info, .nameserverUp, .change, "nameserver \(name) is up", ["nameserver": .text(name)])
        case .loops(let server):
            event(.warning, .nameserverLoops, server, "forwards queries back to this daemon; not used")
        case .askedAgain(let server):
            event(
                .info, .nameserverAskedAgain, server,
                "no longer forwards queries back to this daemon; used again")
        case .silent(let server):
            event(.warning, .nameserverSilent, server, "does not reply; asked last, and tested beside questions")
        case .replies(let server): event(.info, .nameserverReplies, server, "replies again")
        case .onlyTCP(let server):
            event(.info, .nameserverTCPOnly, server, "replies over TCP, not over UDP; asked over TCP")
        case .datagramsAgain(let server): event(.info, .nameserverUDPAgain, server, "replies over UDP again")
        case .announced(let link, let ignored): announced(link, ignored)
        case .linkEnded(let name):
            LogEvent(.info, .linkEnded, .change, "link \(name) announces no domain any more", ["link": .text(name)])
        }
    }

    private static func event(_ level: LogLevel, _ word: EventWord, _ server: String, _ text: String) -> LogEvent {
        LogEvent(level, word, .change, "nameserver \(server) \(text)", ["server": .text(server)])
    }

    private static func announced(_ link: AnnouncingLink, _ ignored: [Name]) -> LogEvent {
        let (domains, servers) = (link.domains.map(\.description), link.servers.map(\.description))
        let others = ignored.map(\.description)
        let left = others.isEmpty ? "" : "; ignored, since public or another link's: " + others.joined(separator: ", ")
        return LogEvent(
            .info, .linkAnnounces, .change,
            "link \(link.name) announces \(domains.joined(separator: ", ")); its servers are "
                + servers.joined(separator: ", ") + left,
            [
                "link": .text(link.name), "domains": .list(domains), "servers": .list(servers),
                "ignored": .list(others),
            ])
    }

    /// Also names the unused nameservers and the reason, which an operator would otherwise search elsewhere.
    ///
    /// - Parameter path: the nameservers' file if it differs from the one in the settings.
    static func nameserversChanged(_ nameservers: NameserverList, from path: String?) -> LogEvent {
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
        let unused = omitted + nameservers.unreadable.map { "\($0.debugDescription) (not an address)" }
        let unheeded = nameservers.options.unheeded
        return LogEvent(
            .info, .nameserversChanged, .change,
            "system resolver: \(list(nameservers.servers))" + (path.map { ", from \($0)" } ?? "")
                + (unused.isEmpty ? "" : "; not used: \(list(unused))")
                + (unheeded.isEmpty ? "" : "; options not followed: \(list(unheeded))"),
            ["servers": .list(nameservers.servers.map(\.description))])
    }

    /// Returns nil for state changes that are not logged.
    init?(_ change: ProviderStateChange, of server: NamedServer) {
        if change.to == .down {
            self = .nameserver(.down(name: server.name, reason: server.lastReason))
        } else if change.from == .down {
            self = .nameserver(.up(name: server.name))
        } else {
            return nil
        }
    }

    static func fleet(redisLost server: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, .fleetRedisLost, .change,
            "no answers are shared with the fleet, and names are resolved alone: Redis at \(server): \(reason); check "
                + "it with: redis-cli ping",
            ["server": .text(server), "reason": .text(reason)])
    }

    static func fleet(redisWorks server: String) -> LogEvent {
        LogEvent(
            .info, .fleetRedisWorks, .change, "answers are shared with the fleet by Redis at \(server)",
            ["server": .text(server)])
    }
}

extension UpstreamOutput {
    /// The event of the log; nil: not logged.
    var logEvent: LogEvent? {
        switch self {
        case .event, .ask, .flush, .presenceDue, .exits, .provider, .billedSums, .note: nil
        case .requestFailed(let provider, let reason): .requestFailed(provider: provider, reason: reason)
        case .providerUnresolved(let name, let host): .providerUnresolved(name: name, host: host)
        case .providerResolved(let name, let host, let addresses):
            .providerResolved(name: name, host: host, addresses)
        case .quota(let warning): .quota(warning)
        case .loops(let server): .nameserver(.loops(server.description))
        case .askedAgain(let server): .nameserver(.askedAgain(server.description))
        case .standing(let news): .nameserver(NameserverNews(news))
        case .redisLost(let server, let reason): .fleet(redisLost: server, reason: reason)
        case .redisWorks(let server): .fleet(redisWorks: server)
        }
    }
}
