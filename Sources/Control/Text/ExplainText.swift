// The text of `explain`: lines of a label and a fact. A terminal shows the label once above its lines; each TXT record
// repeats it.

extension ExplainReport {
    package struct Line: Equatable, Sendable {
        package let word: String
        package let fact: String
    }

    /// The whole text, which usually fits on one screen.
    package var text: String {
        var text = "\(name) \(type)\n"
        var last = ""
        for line in lines {
            text += ExplainReport.padded(line.word == last ? "" : line.word) + line.fact + "\n"
            last = line.word
        }
        return text
    }

    /// The lines, each with its label: "route      providers; no rule matches".
    package var sentences: [String] { lines.map { ExplainReport.padded($0.word) + $0.fact } }

    package var lines: [Line] {
        var (network, order, entry, probe): ([String], [String], [String], [String]) = ([], [], [], [])
        switch stage {
        case .running(let partition, let orderInForce):
            order = orderInForce.map { [$0] } ?? []
            network = [LineFormat.network(partition)] + (portal.map { ["portal \($0)"] } ?? [])
            entry = entries.isEmpty ? ["none"] : entries.flatMap(\.facts)
        case .check(let upstreams, let addresses):
            order = upstreams.map { [$0] } ?? []
            probe = addresses.map { [$0] } ?? []
        }
        var facts = [("network", network), ("route", [route])]
        if !rules.isEmpty {
            facts.append(
                ("rule", ["\(rules.joined(separator: ", ")): \(ruleSays.joined(separator: ", "))"] + ruleOrigins))
        }
        facts += [("order", order), ("entry", entry), ("fleet", fleet.map { [$0] } ?? [])]
        facts += sources.map { ($0.failure == nil ? "answered" : "failed", [$0.fact]) }
        facts.append(("address", addresses.map(\.fact)))
        facts.append(("probe", probe))
        if !expired.isEmpty { facts.append(("expired", [expired])) }
        if let failure {
            let left = LineFormat.span(seconds: failure.leftSeconds)
            facts.append(("failure", ["\(failure.reason); not tried again for \(left)"]))
        }
        if let lastSubstitute { facts.append(("stand-in", ["the system resolver answered: \(lastSubstitute)"])) }
        if let doubt { facts.append(("doubt", [doubt])) }
        if let refresh { facts.append(("refresh", [refresh])) }
        facts.append(("next", next))
        facts.append(("lately", lately.suffix(ExplainReport.maxLately)))
        return facts.flatMap { word, facts in facts.map { Line(word: word, fact: $0) } }
    }

    /// Width of a label: the length of the longest one, plus two blanks.
    private static let wordWidth = 9

    private static func padded(_ word: String) -> String {
        word + String(repeating: " ", count: max(0, wordWidth - word.count))
    }
}

extension ExplainReport.Entry {
    /// State, age, source and records of the entry.
    fileprivate var facts: [String] {
        let (age, life) = (LineFormat.span(seconds: ageSeconds), LineFormat.span(seconds: lifetimeSeconds))
        let left = lifetimeSeconds - ageSeconds
        let end =
            left > 0 ? "\(LineFormat.span(seconds: left)) left" : "\(LineFormat.span(seconds: -left)) past the TTL"
        let who = source ?? "\(provenance), source unknown"
        let server = serverTTLSeconds.map { ", original TTL \($0)" } ?? ""
        let what = records.isEmpty ? rcode : records.joined(separator: " ")
        return [
            "\(state), \(age) old, \(end) of \(life), \(counted(hits, "hit", "hits")) not counted yet",
            "by \(who)\(server)",
            what.shown(maxBytes: ExplainReport.Entry.maxRecordBytes),
        ]
    }

    /// Maximum size of the records: enough for eight addresses of either family.
    private static let maxRecordBytes = 320
}

extension ExplainReport.SourceAnswer {
    fileprivate var fact: String {
        let ago = "\(LineFormat.span(seconds: ageSeconds)) ago"
        if let failure { return "\(source), \(ago): \(failure)" }
        let took = milliseconds.map { ", in \($0) ms" } ?? ", unsolicited"
        let ttl = ttlSeconds.map { ", TTL \($0)" } ?? ""
        return "\(source), \(ago)\(took)\(ttl): \(what)"
    }

    private var what: String {
        let kept = addresses.filter { !filtered.contains($0) }
        var parts: [String] = []
        if isKept { parts.append("kept") }
        if let negative { parts.append(negative) }
        if agrees == true, !isKept { parts.append("the same addresses") }
        if agrees == false, !kept.isEmpty, block == nil { parts.append(kept.joined(separator: " ")) }
        if !filtered.isEmpty { parts.append("\(filtered.joined(separator: " ")) removed (private)") }
        if let block { parts.append((addresses + [block]).joined(separator: " ")) }
        if let contradiction { parts.append("refused as forged: \(contradiction)") }
        if parts.isEmpty { parts.append(kept.isEmpty ? "an answer" : kept.joined(separator: " ")) }
        return parts.joined(separator: "; ")
    }
}

extension AddressReport {
    /// The facts without the name and the reason for the rank; `verdicts` shows those.
    fileprivate var fact: String {
        let found = [
            verdict ?? "-", ageSeconds.map { "\(LineFormat.span(seconds: $0)) ago" },
            rankedMilliseconds.map { "\($0) ms" },
        ].compactMap { $0 }.joined(separator: ", ")
        return "\(endpoint) \(found): " + (place ?? "-")
    }
}
