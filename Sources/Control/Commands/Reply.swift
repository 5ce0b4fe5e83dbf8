// An answer on the control socket that is no report, as text or as one line of JSON.

package enum Reply: Sendable {
    /// The number of cache entries that were removed.
    case removed(Int)
    /// The number of names that will be resolved.
    case prefetching(Int)
    /// The switch that is off; nil: providers are on.
    case switched(SwitchReport?)
    /// The rule that was added.
    case ruleAdded(AddedRuleReport)
    case rules([AddedRuleReport])
    /// The name whose rule was removed.
    case ruleRemoved(String)
    /// The number of providers whose measurements were reset.
    case reset(Int)
    /// The complaints about the settings.
    case notReloaded([String])
    /// Help for one command; nil: for all commands.
    case help(Command.Word?)
    case refusal(Refusal)

    /// Renders the answer, ending with a newline. JSON is one line with sorted keys.
    package func rendered(asJSON: Bool) -> String {
        switch self {
        case .removed(let count): asJSON ? json(["removed": count]) : "removed \(counted(count, "entry", "entries"))\n"
        case .prefetching(let count): asJSON ? json(["names": count]) : "fetching \(counted(count, "name", "names"))\n"
        case .switched(let report):
            asJSON ? json(["switched": report]) : "httpdns is \(report?.text ?? "on")\n"
        case .ruleAdded(let report): asJSON ? json(["added": report]) : "added \(report.text)\n"
        case .rules(let reports): asJSON ? json(["rules": reports]) : AddedRuleReport.text(reports)
        case .ruleRemoved(let name): asJSON ? json(["removed": name]) : "removed the rule for \(name)\n"
        case .reset(let count): asJSON ? json(["reset": count]) : "reset \(counted(count, "provider", "providers"))\n"
        case .notReloaded(let complaints): Reply.notReloaded(complaints, asJSON: asJSON)
        case .help(let word): asJSON ? json(CommandGuide.report(word)) : CommandGuide.text(word)
        case .refusal(let refusal): refusal.text(asJSON: asJSON)
        }
    }

    /// Whether the answer is a refusal, or a query report with an error.
    package static func isRefusal(_ answer: some Collection<UInt8>) -> Bool {
        if answer.starts(with: "error: ".utf8) || answer.starts(with: "{\"error\":".utf8) { return true }
        // Only a query report starts with this key.
        guard answer.starts(with: "{\"ede\":".utf8) else { return false }
        return (decoded(String(decoding: answer, as: UTF8.self)) as QueryReport?)?.error != nil
    }

    /// Returns the complaints and the refusal, which must be the last line.
    private static func notReloaded(_ complaints: [String], asJSON: Bool) -> String {
        let reason = "settings not reloaded, the old ones stay in force"
        guard !asJSON else { return json(ReloadRefusal(error: reason, findings: complaints)) }
        return complaints.map { $0.shown(maxBytes: maxComplaintBytes) + "\n" }.joined() + "error: \(reason)\n"
    }

    /// Maximum size of a complaint: enough for a path and an excerpt of the file.
    private static let maxComplaintBytes = 4096
}
