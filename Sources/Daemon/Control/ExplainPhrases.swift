// Describes the resolver's decisions about one question in short sentences, for `explain`. Makes no decision itself.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Upstreams

struct ExplainPhrases {
    private let known: Explanation
    private let now: Instant
    private let nameOfSource: (Source) -> String

    init(_ known: Explanation, now: Instant, nameOfSource: @escaping (Source) -> String) {
        self.known = known
        self.now = now
        self.nameOfSource = nameOfSource
    }

    /// The question, its route and its rules.
    func outline(_ stage: ExplainReport.Stage) -> ExplainReport {
        var report = ExplainReport(
            name: known.question.name.description, type: known.question.type.description, stage: stage)
        report.route = route
        report.rules = known.matches.map(words)
        report.ruleSays = known.rule.map(settingsText) ?? []
        report.ruleOrigins = known.matches.flatMap { match in
            match.origins.compactMap(words).map { "\(match.name): \($0)" }
        }
        return report
    }

    // MARK: upstream choice

    private var route: String {
        let view = known.view.map { "view \($0): " } ?? ""
        if let grounds = groundsOfOwnAnswer { return "\(view)answered by the daemon: \(grounds)" }
        let unserved = known.unservedUntil.map { until in
            "; no provider serves the name; asked again in \(span(until: until)), or after a flush"
        }
        return "\(view)\(name(known.upstreams))\(grounds)\(unserved ?? "")"
    }

    /// Why the daemon itself answers; nil if upstreams are asked.
    private var groundsOfOwnAnswer: String? {
        switch known.prospect {
        case .here, .refused: known.localOrigin.map(words) ?? "\(family), by a rule"
        case .expired, .fallback, .fails, .substitute, .waits: nil
        }
    }

    private var grounds: String {
        switch known.grounds {
        case .ordinary:
            known.matches.isEmpty ? "; no rule matches" : "; no rule changes the route"
        case .rule: ", by a rule"
        case .account: known.account.map { "; the name belongs to the account (names: \(words($0)))" } ?? ""
        case .notListed: "; no rule lists the name (only-listed)"
        case .systemOnly: " for all names (direct-only)"
        case .switchedOff: "; httpdns is off\(switchedOff)"
        case .portal: "; portal detection name, and a captive portal is suspected"
        case .specialName: "; local name"
        case .noProvider:
            "; no provider supports type \(known.question.type)"
                + (known.upstreams == .system ? "" : ", and stands-in = never")
        }
    }

    /// The upstreams that the next query asks until one answers; nil if it asks none.
    var order: String? {
        guard case .waits(let lookup, _) = known.prospect else { return nil }
        let asked = lookup.running.map(\.upstream) + lookup.untried.map(Upstream.init)
        let system = lookup.coming.map(\.upstream).filter { $0 == .system }
        return (asked + system).map(name).joined(separator: ", ")
    }

    /// Which upstreams are asked first at present, and why; nil if the setting is `providers-first`.
    var orderInForce: String? {
        guard known.upstreams != .system else { return nil }
        let asked = "a provider is asked only if it fails or is late"
        switch known.order {
        case .providersFirst: return nil
        case .systemFirst(isVerified: true): return "system-first: the system resolver's answer is verified; \(asked)"
        case .systemFirst where known.probes.scope == .nothing:
            return "system-first: probes are off, so its answer is not verified; \(asked)"
        case .systemFirst: return "system-first: no verdict on the system resolver's answer yet; \(asked)"
        case .forged(let until):
            return "providers-first for \(span(until: until)): the system resolver's answer was mismatched"
        case .contradicted(let until):
            return "providers-first for \(span(until: until)): the system resolver's answer contradicted expect"
        case .onProbation:
            return "system-first, but its answer must be verified first: an earlier one was mismatched"
        case .mistrusted: return "providers-first: the system resolver gave mismatched addresses of several domains"
        }
    }

    private var switchedOff: String {
        guard let (name, until) = known.switchedOff else { return "" }
        let whose = name.isRoot ? "" : " for \(name)"
        return whose + (until.map { ", for \(span(until: $0)) more" } ?? ", until it is switched on")
    }

    private func name(_ upstreams: NameUpstreams) -> String {
        switch upstreams {
        case .providers: "providers"
        case .owners(let owners, let isExclusive):
            owners.map { nameOfSource(.provider($0)) }.joined(separator: ", ")
                + (isExclusive ? " only" : " before other providers")
        case .provider(let only): "\(nameOfSource(.provider(only))) only"
        case .nameserver(let only):
            known.link.map { link($0.owner, $0.domain) } ?? "nameserver \(nameOfSource(.nameserver(only))) only"
        case .nothing(let reason): known.link.map { link($0.owner, $0.domain) } ?? words(reason)
        case .system: "the system resolver"
        }
    }

    private func words(_ reason: NoUpstream) -> String {
        switch reason {
        case .noLink: "nothing: no link announces the domain"
        case .noneOfView:
            "nothing: no provider of the client's view may be asked, and the system resolver does not filter"
        case .removed: "nameserver a removed provider only"
        }
    }

    private func link(_ owner: LinkRoutes.Owner, _ domain: Name) -> String {
        guard owner.nameserver != nil else {
            return "nothing: link \(owner.link), which announced \(domain), has ended"
        }
        let servers = owner.servers.map(\.description).joined(separator: ", ")
        return "link \(owner.link) only, which announces \(domain) with \(servers)"
    }

    /// Returns the scope as the settings write it.
    private func words(_ scope: QuestionScope) -> String {
        (scope.includesDescendants ? "" : "=") + scope.name.description
    }

    /// Returns the name of a match as the settings write it; of a list, with its place.
    private func words(_ match: RuleMatch) -> String {
        let prefix =
            switch match.scope {
            case .exact: "="
            case .tree: ""
            case .below: "*."
            }
        guard case .list(let path, let line, let rule)? = match.origins.first else { return match.name.description }
        return "\(prefix)\(match.name) (rule \(rule), \(path) line \(line))"
    }

    private func name(_ upstream: Upstream) -> String {
        switch upstream {
        case .provider, .nameserver: nameOfSource(Source(upstream))
        case .system: "the system resolver"
        }
    }

    private func words(_ origin: LocalOrigin) -> String {
        switch origin {
        case .hosts(let place): "\(place.path) line \(place.line)"
        case .specialName: "special-use name"
        case .rule(let match): "the rule for \(match)"
        case .lease(let place, nil): "DHCP lease without end, \(place.path) line \(place.line)"
        case .lease(let place, let end?):
            "DHCP lease for \(span(until: end)) more, \(place.path) line \(place.line)"
        case .zone(let zone): "no local name; local-zone = \"\(zone)\""
        }
    }

    /// Returns where the rule comes from; nil for a list's line, which is shown with the match.
    private func words(_ origin: RuleOrigin) -> String? {
        switch origin {
        case .file(let file, let line): "line \(line) of \(file)"
        case .list: nil
        case .added(let end?): "added at run time, until \(LineFormat.moment(secondsSince1970: end))"
        case .added(nil): "added at run time"
        }
    }

    /// The rule's address family as the settings write it; empty without one.
    private var family: String { known.rule?.terms.family.map { "family = \($0.rawValue)" } ?? "" }

    /// Returns the rule's settings as they are written in the settings file.
    private func settingsText(_ rule: Rule) -> [String] {
        var settings: [String] = []
        switch rule.upstreams {
        // No rule has owners.
        case nil, .owners: break
        case .providers: settings.append("resolver = httpdns")
        case .link: settings.append("resolver = link")
        case .provider(let only): settings.append("resolver = \(nameOfSource(.provider(only)))")
        case .nameserver(let only): settings.append("resolver = \(nameOfSource(.nameserver(only)))")
        case .nothing: settings.append("resolver = a removed provider")
        case .system: settings.append("resolver = system")
        }
        settings += rule.terms.words(of: RuleTerm.rows) + (rule.answer?.settings ?? [])
        settings += rule.terms.words(of: RuleTerm.laterRows)
        return settings.isEmpty ? ["nothing"] : settings
    }

    // MARK: probes, expiry and refresh

    /// Which of the name's addresses will be probed; nil if the question has no addresses to probe.
    var probe: String? {
        if groundsOfOwnAnswer != nil { return nil }
        guard known.question.type.isAddress else { return nil }
        let numbers = known.probes.ports.map(String.init).joined(separator: ", ")
        let number = known.probes.ports.count == 1 ? "port \(numbers)" : "ports \(numbers)"
        let ports = known.probes.method == .connection ? "\(number) by a connection only" : number
        switch known.probes.scope {
        case .nothing where known.rule?.terms.probe == false: return "none, by a rule"
        case .nothing where known.upstreams.areFinal: return "none: addresses from a nameserver are not probed"
        case .nothing: return "none: probes are off"
        case .publicAddresses: return "public addresses at \(ports), if the name is queried again"
        case .allAddresses: return "all addresses at \(ports), by a rule, if the name is queried again"
        }
    }

    /// Whether an answer will be refreshed; nil if the daemon itself answers.
    var refreshToCome: String? {
        if groundsOfOwnAnswer != nil { return nil }
        return known.mayBeRefreshed ? "before each expiry, while the name is in use" : ExplainPhrases.noRefresh
    }

    private static let noRefresh = "none: prefetch is off"

    /// Says whether and how long an answer is usable after its TTL has expired.
    ///
    /// - Parameters:
    ///   - freshness: freshness of the entry that the cache would serve first; nil without an entry.
    ///   - answer: answer of the same entry.
    func expired(_ freshness: Freshness?, _ answer: RenderedAnswer?) -> String {
        if groundsOfOwnAnswer != nil { return "" }
        let (limits, stale) = (known.limits, known.stale)
        guard limits.maxAgeSeconds > 0 else { return "expired answers are not used" }
        if answer?.isNegative == true, !limits.allowsNegative { return "expired negative answers are not used" }
        let time = "\(LineFormat.span(seconds: Int(limits.maxAgeSeconds))) after expiry"
        guard freshness != .gone else { return "too old: usable only for \(time)" }
        let (timeout, ttl) = (stale.clientTimeout.wholeMilliseconds, stale.answerTTLSeconds)
        return "usable for \(time), if no answer arrives within \(timeout) ms, with TTL \(ttl)"
    }

    /// Who denies the last known good answer, and until when it is given; nil: none does.
    var doubt: String? {
        guard let doubt = known.doubt else { return nil }
        let ago = LineFormat.span(seconds: max(0, Int(doubt.since.duration(to: now).wholeSeconds)))
        let source = nameOfSource(doubt.source)
        let said = "\(source) denied the last known good answer \(ago) ago (\(doubt.denial.rawValue))"
        guard now < doubt.until else { return "\(said); the denial is believed from the next answer on" }
        let given = doubt.isGiven ? "it is given" : "no client needed it yet"
        return "\(said); \(given), for \(span(until: doubt.until)) more at most, while an address shows a valid "
            + "certificate and no second upstream denies it; without a certificate for 60 s at most, while no second "
            + "upstream replies"
    }

    /// When the answer is refreshed and how often it is requested; nil without usage data.
    var refresh: String? {
        guard let refresh = known.refresh else { return nil }
        guard refresh.isAllowed else { return ExplainPhrases.noRefresh }
        let use = "\(refresh.isInUse ? "in use" : "not in use"), \(queries(refresh))"
        guard let plannedAt = refresh.plannedAt else { return "not planned; \(use)" }
        if refresh.isKept { return "in \(span(until: plannedAt)), as [prefetch] keep has it; \(queries(refresh))" }
        return "in \(span(until: plannedAt)) if it is in use then; \(use)"
    }

    /// Minimum of queries for a rate. Fewer queries say little: the estimate may be wrong by half or more.
    private static let minQueriesForRate = 5

    private func queries(_ refresh: Explanation.Refresh) -> String {
        let count = Int(refresh.recentQueries.rounded())
        guard count < ExplainPhrases.minQueriesForRate else { return "queried about \(rate(refresh.demandPerSecond))" }
        return switch count {
        case 0: "not queried recently"
        case 1: "queried once recently"
        default: "queried \(count) times recently"
        }
    }

    /// Shows low rates per hour, because a rate per second would be too small to read.
    private func rate(_ perSecond: Double) -> String {
        let perHour = Int(perSecond * 3600)
        return perHour > 7200 ? "\(perHour / 3600) times a second" : "\(perHour) times an hour"
    }

    // MARK: the next query

    /// Describes a reply that is decided before the cache lookup.
    static func next(_ reply: LocalPolicy) -> String {
        switch reply {
        case .refused(let code): "refused with \(code)"
        case .ownAnswer: "minimal answer to ANY (RFC 8482)"
        case .filteredFamily: "answered with no data: no IPv6 route (filter-aaaa)"
        }
    }

    /// - Parameters:
    ///   - givenNow: freshness of the entry that the cache serves at once; nil without such an entry.
    ///   - refreshWasAsked: true if a reply near the expiry has already triggered the refresh; each entry triggers one.
    func next(givenNow: Freshness?, refreshWasAsked: Bool) -> [String] {
        if let givenNow {
            guard givenNow == .due else { return ["answered from the cache"] }
            return ["answered from the cache, \(refreshOfNext(wasAsked: refreshWasAsked))"]
        }
        switch known.prospect {
        case .here(let answer): return ["answered by the daemon: \(summary(answer))"]
        case .refused(let reason): return ["REFUSED with EDE \(reason.code): \(reason.text)"]
        case .expired(let cause, let remark):
            return ["the expired answer at once with EDE \(remark.code), \(why(cause))"]
        case .fallback: return ["the rule's fallback addresses at once"]
        case .fails(let reason): return ["SERVFAIL at once, with EDE \(reason.code): \(reason.text)"]
        case .substitute: return ["the system resolver's answer at once; a provider's answer replaces it later"]
        case .waits(let lookup, let isJoining): return steps(of: lookup, isJoining: isJoining)
        }
    }

    private func refreshOfNext(wasAsked: Bool) -> String {
        if known.isBeingRefreshed { return "its refresh is in progress" }
        if !wasAsked, known.isRefreshedWhenDue { return "and refreshed" }
        guard known.mayBeRefreshed else { return "and not refreshed: prefetch is off" }
        return known.refresh?.plannedAt == nil ? "and not refreshed before expiry" : "and refreshed as planned"
    }

    private func why(_ cause: StaleCause) -> String {
        switch cause {
        case .timeout: "because no upstream answered in time"
        case .unresponsive: "because no provider is responding"
        case .failure: "because every upstream failed"
        case .recheck: "because every upstream failed recently"
        case .denied: "because an upstream denies it and no other one answered in time"
        case .cacheOnly: "because the query asks for the cache only"
        case .otherNetwork: "because every upstream failed; the answer is from another network"
        }
    }

    private func steps(of lookup: LookupView, isJoining: Bool) -> [String] {
        let running = lookup.running.map { name($0.upstream) }.joined(separator: ", ")
        let asked = running.isEmpty ? "asks no upstream yet" : "asks \(running)"
        let first =
            isJoining
            ? "joins the lookup of \(milliseconds(lookup.startedAt, now)) ms ago, which \(asked)" : asked
        let coming = lookup.coming.map { "asks \(name($0.upstream)) too after \(milliseconds(now, $0.at)) ms" }
        let expired = lookup.expiredAt.map {
            "the expired answer after \(milliseconds(now, $0)) ms without a new answer"
        }
        // A client that has received the expired answer gets no SERVFAIL later.
        let end = expired ?? "SERVFAIL after \(milliseconds(now, lookup.givesUpAt)) ms without an answer"
        let other = known.question.type == .a ? "IPv6" : "IPv4"
        let preferred = lookup.awaitsPreferred ? ["no data if it has a usable \(other) address (\(family))"] : []
        return [first] + coming + preferred + [end]
    }

    private func summary(_ answer: Answer) -> String {
        if let target = answer.records.lazy.compactMap(\.aliasTarget).first, known.question.type != .cname {
            return "an alias, with the answer of \(target); see explain \(target)"
        }
        return switch answer.kind {
        case .records:
            answer.addresses.isEmpty ? "a record" : answer.addresses.map(\.description).joined(separator: " ")
        case .noData, .ambiguousEmpty: "no data"
        case .noSuchName: "no such name"
        }
    }

    private func milliseconds(_ start: Instant, _ end: Instant) -> Int {
        max(0, start.duration(to: end).wholeMilliseconds)
    }

    private func span(until instant: Instant) -> String {
        LineFormat.span(seconds: max(0, Int(now.duration(to: instant).wholeSeconds)))
    }
}
