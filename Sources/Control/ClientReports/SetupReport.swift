// The result of `setup`: what was written, what the daemon says to it, and what the operator does next.

package struct SetupReport: Codable, Equatable, Sendable {
    /// The daemon at the control socket.
    package enum Daemon: String, Codable, Sendable {
        case absent
        /// It runs with another settings file.
        case readsAnotherFile = "reads-another-file"
        case reloaded
        /// It keeps its former settings.
        case refuses
    }

    /// Absolute, as the other paths.
    package let path: String
    /// Where the former file is kept; nil without one.
    package let former: String?
    /// The key file that was written; nil if none was.
    package var keyFile: String?
    /// The text of the file, which was not written; nil unless in a dry run.
    package var settings: String?
    package var daemon = Daemon.absent
    /// The settings file of a daemon that reads another one.
    package var daemonFile: String?
    /// Changed settings that take effect only after a restart.
    package var needRestart: [String] = []
    /// Why the daemon refuses the settings.
    package var findings: [String] = []
    /// Commands, in their order.
    package var next: [String] = []

    package init(path: String, former: String?) {
        self.path = path
        self.former = former
    }

    package enum CodingKeys: String, CodingKey {
        case path, former, settings, daemon, findings, next
        case keyFile = "key_file"
        case daemonFile = "daemon_file"
        case needRestart = "need_restart"
    }

    /// Returns the commands that follow.
    ///
    /// - Parameter isStandardFile: the service reads this file.
    package static func next(_ report: SetupReport, takesOver: Bool, isStandardFile: Bool) -> [String] {
        let use = takesOver && report.daemon != .absent ? [] : ["sudo httpdnsctl system use"]
        switch report.daemon {
        // A restart would fail with the new file.
        case .refuses:
            let path = shellWord(report.path)
            return [report.former.map { "sudo mv \(shellWord($0)) \(path)" } ?? "sudo rm \(path)"]
        case .readsAnotherFile: return ["sudo httpdnsd --config \(shellWord(report.path))"]
        case .absent:
            return
                (isStandardFile
                ? ["sudo systemctl start httpdnsd"] : ["sudo httpdnsd --config \(shellWord(report.path))"]) + use
        case .reloaded:
            guard report.needRestart.isEmpty else { return ["sudo systemctl restart httpdnsd"] + use }
            return use.isEmpty ? [] : ["sudo httpdnsctl doctor"] + use
        }
    }

    package func rendered(asJSON: Bool) -> String { asJSON ? json(self) : text }

    /// The next commands as text; empty without any. Not part of the text above, because a take-over comes in between.
    package var nextText: String {
        next.isEmpty ? "" : SetupReport.shown(["Next:"] + next.map { "    \($0)" })
    }

    private var text: String {
        var lines = ["wrote \(path)"]
        if let former { lines.append("kept the former file as \(former)") }
        if let keyFile { lines.append("wrote the key to \(keyFile)") }
        switch daemon {
        case .absent: lines.append("no daemon answers now")
        case .readsAnotherFile:
            lines.append("the running daemon reads \(daemonFile ?? "another file"), and keeps its settings")
        case .reloaded: lines.append(ReloadReport(needRestart: needRestart).text)
        case .refuses:
            lines += findings
            lines.append("the daemon refuses the new settings, and keeps its former ones until a restart, which fails")
        }
        return SetupReport.shown(lines)
    }

    private static func shown(_ lines: [String]) -> String {
        lines.map { $0.shown(maxBytes: SystemWorkReport.maxLineBytes) + "\n" }.joined()
    }
}
