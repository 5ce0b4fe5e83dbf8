// The meaning of a command line in words, or the refusal as the daemon sends it.

import Control
import DNSWire

func outcome(_ line: String) -> String {
    outcome(Array(line.utf8))
}

func outcome(_ line: [UInt8]) -> String {
    do throws(RefusedRequest) {
        let request = try Request(line: line)
        return "\(words(request.command))\(request.wantsJSON ? " as JSON" : "")"
    } catch {
        return Reply.refusal(error.refusal).rendered(asJSON: error.wantsJSON)
    }
}

private func words(_ command: Command) -> String {
    switch command {
    case .status, .fleet, .evidence, .audit, .top, .inflight, .reload: "\(command)"
    case .help(let word): word.map { "help \($0)" } ?? "help"
    case .stats(asPrometheus: false): "stats"
    case .stats(asPrometheus: true): "stats for Prometheus"
    case .explain(let name, let type, let client): "explain \(name) \(type)\(client.map { " for \($0)" } ?? "")"
    case .query(let terms):
        "query \(terms.name) \(terms.type) of \(terms.provider ?? "all")\(terms.skipsCache ? " past the cache" : "")"
    case .watch(let pattern, let showsClients):
        "watch \(pattern == nil ? "all" : "some")\(showsClients ? " with clients" : "")"
    case .recorder(let showsClients): "recorder\(showsClients ? " with clients" : "")"
    case .log(let level, let seconds): "log \(level) \(seconds.map { "\($0) s" } ?? "until changed")"
    case .cache(let view, let scope): "cache \(view.rawValue) \(words(scope))"
    case .flush(let scope, let wholeFleet): "flush \(words(scope))\(wholeFleet ? " of the fleet" : "")"
    case .prefetch(let names): "prefetch \(names)"
    case .httpdns(.off(let rule, let seconds)):
        "off \(rule.map { "\($0)" } ?? "all") \(seconds.map { "\($0) s" } ?? "until on")"
    case .httpdns(.on(let rule)): "on \(rule.map { "\($0)" } ?? "all")"
    case .rule(.add(let name, let settings, let seconds)):
        "rule \(name) \(settings) \(seconds.map { "\($0) s" } ?? "until removed")"
    case .rule(.list): "rules"
    case .rule(.remove(let name)): "no rule \(name)"
    case .providers(let action): "providers \(action)"
    case .network(let view): "network \(view)"
    case .verify(let name): "verify \(name)"
    case .verdicts(let name): "verdicts \(name.map { "\($0)" } ?? "of all")"
    case .report(let name, let address): "report \(name) \(address)"
    case .whois(let address): "whois \(address)"
    }
}

private func words(_ scope: QuestionScope) -> String {
    "\(scope.includesDescendants ? "under " : "")\(scope.name) \(scope.type?.description ?? "all types")"
}

let allowed =
    "allowed: status, stats, cache, flush, prefetch, httpdns, rule, providers, network, fleet, "
    + "verify, verdicts, report, evidence, audit, whois, explain, query, top, inflight, watch, recorder, log, "
    + "reload, help"

/// The end of every refusal of a name or of a record type.
let isNoName = "is not a domain name; allowed: labels of 1 to 63 bytes with dots between them, 253 bytes in all"
let isNoType = """
    is not a record type; allowed: A, NS, CNAME, SOA, PTR, HINFO, MX, TXT, AAAA, SRV, DNAME, DS, RRSIG, NSEC, \
    DNSKEY, NSEC3, SVCB, HTTPS, ANY, CAA, or TYPE with a number, such as TYPE65
    """
