// The output of `httpdnsctl system`: JSON for all actions, and the text of `status`.

/// The result of `system status`.
package struct SystemReport: Report, Codable, Equatable {
    /// The state of the takeover record.
    package enum Record: String, Codable, Sendable {
        case none
        /// A takeover or a restore was interrupted.
        case unfinished
        case complete
        /// The record was not written by httpdnsctl, or is incomplete on the disk.
        case damaged
    }

    /// The resolv.conf manager.
    package var manager: String
    package var record: Record
    /// The first nameserver in resolv.conf; nil if there is none.
    package var nameserver: String?
    /// Whether the daemon answered through that nameserver.
    package var leadsToDaemon: Bool
    /// The addresses at which the daemon itself answered, from the record or from its `status`.
    package var answering: [String]
    /// The files that were changed after `system use`.
    package var changed: [String]
    /// The daemon's own report of its listen addresses, if their port is not 53; resolv.conf cannot name such a port.
    package var otherPorts: [String]

    package init(
        manager: String, record: Record, nameserver: String?, leadsToDaemon: Bool, answering: [String],
        changed: [String], otherPorts: [String] = []
    ) {
        self.manager = manager
        self.record = record
        self.nameserver = nameserver?.shown(maxBytes: SystemWorkReport.maxLineBytes)
        self.leadsToDaemon = leadsToDaemon
        self.answering = answering
        self.changed = changed
        self.otherPorts = otherPorts
    }

    package enum CodingKeys: String, CodingKey {
        case record, nameserver, answering, changed
        case manager = "keeper"
        case leadsToDaemon = "leads_to_daemon"
        case otherPorts = "other_ports"
    }

    /// Whether names are resolved by the daemon and the previous state can be restored.
    package var isInUse: Bool { record == .complete && leadsToDaemon && changed.isEmpty }

    package var text: String {
        let use =
            switch record {
            case .none: leadsToDaemon ? "used, but not set up by \"system use\"" : "not used by this machine"
            case .unfinished: "takeover interrupted; run: httpdnsctl system restore"
            case .complete: leadsToDaemon ? "used by this machine" : "set up, but queries do not reach the daemon"
            case .damaged: "the takeover record is damaged"
            }
        var lines = [
            "httpdnsd: \(use)", "resolv.conf manager: \(manager)", "first nameserver: \(nameserver ?? "none")",
            "daemon answers at: \(answering.isEmpty ? "none" : answering.joined(separator: " "))",
        ]
        if !otherPorts.isEmpty {
            lines.append("daemon listens at: \(otherPorts.joined(separator: " ")); resolv.conf needs port 53")
        }
        lines += changed.map { "changed since: \($0)" }
        return lines.map { $0 + "\n" }.joined()
    }
}

/// The result of `system use` and `system restore`.
package struct SystemWorkReport: DataReport, Codable, Equatable {
    /// Whether the steps were carried out. False with --dry-run, or if there was nothing to do.
    package var isDone: Bool
    package var steps: [String]
    package var remarks: [String]

    /// Maximum size of a line: enough for the longest path and some text.
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
}
