// The text of `fleet`: a few lines about this member and the fleet, and a table of the members that matter most.

extension FleetReport {
    /// Maximum number of members in the table: one screen. Members with other settings or without a sign of life come
    /// first; JSON has all.
    static let maxShownMembers = 20
    /// Maximum number of names in one line.
    private static let maxNames = 5

    package var text: String {
        let lines = head.map { LineFormat.labelled($0.0, $0.1) }
        return (lines + [""] + table).map { "\($0)\n" }.joined()
    }

    private var head: [(String, String)] {
        let facts: [(String, String?)] = [
            ("fleet", StatusReport.Fleet(server: server, site: site, fault: fault).text),
            ("saved", savedText),
            (
                "asked",
                "\(LineFormat.grouped(leases)) with a lease, \(LineFormat.grouped(alone)) without Redis, "
                    + "\(LineFormat.grouped(timeouts)) after a timeout of Redis; waits that took too long: "
                    + "\(LineFormat.grouped(endedLeases)); deferred: \(LineFormat.grouped(deferred))"
            ),
            ("shared", "\(LineFormat.grouped(published)) answers; refused values: \(refusedText)"),
            ("calls", callText), ("redis", redisText), ("members", membersText), ("drift", driftText),
        ]
        return facts.compactMap { label, text in text.map { (label, $0) } }
    }

    private var savedText: String {
        guard let hitShare else { return "no requests yet" }
        return "\(LineFormat.percent(hitShare)) of \(LineFormat.grouped(saved + made)) requests: "
            + "\(LineFormat.grouped(answers)) by answers of others, \(LineFormat.grouped(awaited)) by waiting for them"
    }

    private var refusedText: String {
        let all = LineFormat.grouped(refused.values.reduce(0, +))
        return refused.isEmpty ? all : "\(all) (\(FleetReport.names(LineFormat.words(refused))))"
    }

    private var callText: String {
        let times = callMilliseconds.map {
            "p50 \(FleetReport.milliseconds($0.p50)), p95 \(FleetReport.milliseconds($0.p95))"
        }
        return "\(times ?? "none yet"); Redis was switched off \(counted(trips, "time", "times"))"
    }

    private var redisText: String? {
        let facts = [
            maxMemoryBytes.map { $0 == 0 ? "no memory limit" : "at most \(LineFormat.size(bytes: $0))" },
            evictionPolicy.map { "maxmemory-policy \($0)" },
            excessRights.isEmpty ? nil : "unneeded rights: \(FleetReport.names(excessRights))",
        ].compactMap(\.self)
        return facts.isEmpty ? nil : facts.joined(separator: ", ")
    }

    private var membersText: String {
        if let membersFault { return "only this one is known: \(membersFault)" }
        let late = members.count(where: \.isLate)
        return LineFormat.grouped(max(membersInAll ?? 0, members.count))
            + (late > 0 ? ", \(LineFormat.grouped(late)) late" : "")
            + " | site " + FleetReport.names(LineFormat.words(counts(of: \.site))) + " | version "
            + FleetReport.names(LineFormat.words(counts(of: \.version)))
    }

    private var driftText: String? {
        guard drift > 0 else { return nil }
        return "\(counted(drift, "member", "members")) of site \(site) with other settings: "
            + "\(FleetReport.names(drifting.map(\.member))); compare \(FleetReport.comparison)"
    }

    /// The commands that show the difference between the settings of two members.
    package static let comparison = "httpdnsd --print-effective and httpdnsctl rule ls there and here"

    private func counts(of fact: (Member) -> String) -> [String: Int] {
        members.reduce(into: [:]) { $0[fact($1), default: 0] += 1 }
    }

    /// Returns the first names as one text: "a, b, c, d, e and 3 more".
    package static func names(_ names: [String]) -> String {
        let more = names.count - maxNames
        return names.prefix(maxNames).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    /// Returns the rounded time as text: "0.21 ms".
    private static func milliseconds(_ value: Double) -> String {
        // A larger value cannot be the time of a call.
        let hundredths = Int((min(max(value.isNaN ? 0 : value, 0), 1e6) * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) ms"
    }

    // MARK: members

    private static let titles = [
        "member", "site", "version", "settings", "seen", "up", "saved", "leases", "alone", "p95", "in cache", "",
    ]

    private var table: [String] {
        // Late members and members with other settings are those that an operator looks for.
        func rank(_ member: Member) -> Int {
            if member.isThis { return 0 }
            return member.differs(from: own) ? 1 : member.isLate ? 2 : 3
        }
        let ranked = members.map { (rank: rank($0), member: $0) }
        let sorted = ranked.sorted { ($0.rank, $0.member.member) < ($1.rank, $1.member.member) }.map(\.member)
        let rows = sorted.prefix(FleetReport.maxShownMembers).map(columns)
        let left = max(membersInAll ?? 0, members.count) - rows.count
        let lines = LineFormat.aligned([FleetReport.titles] + rows).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        return lines + (left > 0 ? ["\(LineFormat.grouped(left)) more members: httpdnsctl --json fleet"] : [])
    }

    private func columns(_ member: Member) -> [String] {
        let notes = [
            member.isThis ? "this one" : nil, member.differs(from: own) ? "other settings" : nil,
            member.isLate ? "late" : nil,
        ].compactMap(\.self)
        return [
            member.member, member.site, member.version, member.settings ?? "-",
            LineFormat.span(seconds: member.seenSeconds),
            member.uptimeSeconds.map { LineFormat.uptime(seconds: $0) } ?? "-", LineFormat.grouped(member.saved),
            LineFormat.grouped(member.leases), LineFormat.grouped(member.alone),
            member.callMillisecondsP95.map(FleetReport.milliseconds) ?? "-",
            member.entriesInCache.map(LineFormat.grouped) ?? "-", notes.joined(separator: ", "),
        ]
    }
}
