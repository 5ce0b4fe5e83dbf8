// The result of `setup`: the written files, the daemon's reaction, and the next steps of the operator.

package struct SetupReport: Report, Codable, Equatable {
    /// The reaction of the daemon at the control socket.
    package enum Daemon: String, Codable, Sendable {
        case absent
        /// The daemon runs with another settings file.
        case readsAnotherFile = "reads-another-file"
        case reloaded
        /// The daemon has not read the file, because this user may not reload it.
        case doesNotReload = "does-not-reload"
        /// The daemon keeps its former settings.
        case refuses
    }

    /// The path of the file; all paths are absolute.
    package let path: String
    /// The path at which the former file is kept; nil if there was none.
    package let former: String?
    /// Lines of the former file that the new one does not have, with their keys.
    package var leftOut: [String] = []
    /// The key file that was written; nil if none was.
    package var keyFile: String?
    /// The text of the file, which was not written; nil unless in a dry run.
    package var settings: String?
    package var isTakeOverAsked = false
    package var daemon = Daemon.absent
    /// The settings file of a daemon that reads another one.
    package var daemonFile: String?
    /// Changed settings that take effect only after a restart.
    package var needRestart: [String] = []
    /// Why the daemon refuses the settings, or to read them.
    package var findings: [String] = []
    /// The next commands, in their order.
    package var next: [String] = []

    package init(path: String, former: String?) {
        self.path = path
        self.former = former
    }

    package enum CodingKeys: String, CodingKey {
        case path, former, settings, daemon, findings, next
        case leftOut = "left_out"
        case keyFile = "key_file"
        case isTakeOverAsked = "take_over_asked"
        case daemonFile = "daemon_file"
        case needRestart = "need_restart"
    }

    /// Whether the take-over follows: names would not resolve by these settings otherwise.
    package var takesOver: Bool { isTakeOverAsked && daemon == .reloaded }

    /// Sets the next commands.
    ///
    /// - Parameter isStandardFile: true if the service reads this file.
    package mutating func setNext(isStandardFile: Bool) {
        let use = takesOver ? [] : ["sudo httpdnsctl system use"]
        let path = shellWord(path)
        let start = { (verb: String) in
            isStandardFile ? "sudo systemctl \(verb) httpdnsd" : "sudo httpdnsd --config \(path)"
        }
        switch daemon {
        // A restart may fail with the new file.
        case .refuses: next = [former.map { "sudo mv \(shellWord($0)) \(path)" } ?? "sudo rm \(path)"]
        case .doesNotReload: next = ["sudo httpdnsctl reload"] + use
        case .readsAnotherFile: next = [start("restart")] + use
        case .absent: next = [start("start")] + use
        case .reloaded where !needRestart.isEmpty: next = ["sudo systemctl restart httpdnsd"] + use
        case .reloaded: next = takesOver ? [] : ["sudo httpdnsctl doctor"] + use
        }
    }

    /// The next commands as text; empty if there are none. Not part of the text above, because a take-over comes in
    /// between.
    package var nextText: String {
        next.isEmpty ? "" : SetupReport.shown(["Next:"] + next.map { "    \($0)" })
    }

    /// The left-out lines as text; empty if the new file has all lines.
    package var leftOutText: String { SetupReport.shown(leftOutLines) }

    private var leftOutLines: [String] {
        leftOut.isEmpty ? [] : ["left out of the former file:"] + leftOut.map { "    \($0)" }
    }

    package var text: String {
        var lines = ["wrote \(path)"]
        if let former { lines.append("kept the former file as \(former)") }
        lines += leftOutLines
        if let keyFile { lines.append("wrote the key to \(keyFile)") }
        switch daemon {
        case .absent: lines.append("no daemon answers now")
        case .readsAnotherFile:
            lines.append("the running daemon reads \(daemonFile ?? "another file"), and not this one")
            lines.append("stop that daemon before you start one with this file")
        case .reloaded: lines.append(ReloadReport(needRestart: needRestart).sentence)
        case .doesNotReload:
            lines += findings
            lines.append("the running daemon has not read this file yet")
        case .refuses:
            lines += findings
            lines.append("the running daemon refuses this file, and continues with its former settings")
            lines.append("correct this file before the next restart, or put the former one back")
        }
        if isTakeOverAsked, !takesOver {
            lines.append("nothing was taken over; the resolver of this machine is unchanged")
        }
        return SetupReport.shown(lines)
    }

    private static func shown(_ lines: [String]) -> String {
        lines.map { $0.shown(maxBytes: SystemWorkReport.maxLineBytes) + "\n" }.joined()
    }
}
