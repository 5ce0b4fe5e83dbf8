// What `httpdnsctl system` says in JSON, and in text where it only looks.

/// Of `system status`.
package struct SystemReport: Codable, Equatable, Sendable {
    /// What is written down of a takeover.
    package enum Record: String, Codable, Sendable {
        case none
        /// It was interrupted on the way there or back.
        case unfinished
        case complete
        /// It is not ours, or the disk has lost a part of it.
        case damaged
    }

    /// Who keeps resolv.conf.
    package var keeper: String
    package var record: Record
    /// Whom programs ask first; nil: the file names nobody.
    package var nameserver: String?
    /// The daemon has answered through that nameserver.
    package var leadsToDaemon: Bool
    /// Where the daemon has answered itself: of the record, or by its own word.
    package var answering: [String]
    /// What is no longer as `system use` left it.
    package var changed: [String]

    package init(
        keeper: String, record: Record, nameserver: String?, leadsToDaemon: Bool, answering: [String], changed: [String]
    ) {
        self.keeper = keeper
        self.record = record
        self.nameserver = nameserver?.shown(maxBytes: SystemWorkReport.maxLineBytes)
        self.leadsToDaemon = leadsToDaemon
        self.answering = answering
        self.changed = changed
    }

    package enum CodingKeys: String, CodingKey {
        case keeper, record, nameserver, answering, changed
        case leadsToDaemon = "leads_to_daemon"
    }

    /// Names come from the daemon, and the way back is known.
    package var isInUse: Bool { record == .complete && leadsToDaemon && changed.isEmpty }

    package func shown(asJSON: Bool) -> String { asJSON ? json(self) : text }

    private var text: String {
        let use =
            switch record {
            case .none: leadsToDaemon ? "leads to the daemon, though not by \"system use\"" : "not used by this machine"
            case .unfinished: "interrupted on the way; run: httpdnsctl system restore"
            case .complete: leadsToDaemon ? "used by this machine" : "taken over, but names do not come from the daemon"
            case .damaged: "the record of what was before is damaged"
            }
        var lines = [
            "httpdnsd: \(use)", "resolv.conf is kept by: \(keeper)", "first nameserver: \(nameserver ?? "none")",
            "daemon answers at: \(answering.isEmpty ? "nowhere" : answering.joined(separator: " "))",
        ]
        lines += changed.map { "changed since: \($0)" }
        return lines.map { $0 + "\n" }.joined()
    }
}

/// Of `system use` and `system restore`.
package struct SystemWorkReport: Codable, Equatable, Sendable {
    /// Whether the steps were taken; not with --dry-run, and not where there was nothing to do.
    package var isDone: Bool
    package var steps: [String]
    package var remarks: [String]

    /// The longest path, and some words around it.
    package static let maxLineBytes = 5000

    package init(isDone: Bool, steps: [String], remarks: [String]) {
        self.isDone = isDone
        self.steps = steps.map { $0.shown(maxBytes: SystemWorkReport.maxLineBytes) }
        self.remarks = remarks.map { $0.shown(maxBytes: SystemWorkReport.maxLineBytes) }
    }

    package enum CodingKeys: String, CodingKey {
        case steps, remarks
        case isDone = "done"
    }

    package var line: String { json(self) }
}
