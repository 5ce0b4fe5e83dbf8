// The result of `setup`: the written files, the daemon's reaction, and the next steps of the operator.

import Control

struct SetupReport: DataReport, Equatable {
    /// The reaction of the daemon at the control socket.
    enum Daemon: String, Encodable, Sendable {
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
    let path: String
    /// The path at which the former file is kept; nil if there was none.
    let former: String?
    /// Lines of the former file that the new one does not have, with their keys.
    var leftOut: [LocalizedText] = []
    /// The key file that was written; nil if none was.
    var keyFile: String?
    /// The text of the file, which was not written; nil unless in a dry run.
    var settings: String?
    var isTakeOverAsked = false
    var daemon = Daemon.absent
    /// The settings file of a daemon that reads another one.
    var daemonFile: String?
    /// Changed settings that take effect only after a restart.
    var needRestart: [String] = []
    /// Why the daemon refuses the settings, or to read them.
    var findings: [String] = []
    /// The next commands, in their order.
    var next: [String] = []

    init(path: String, former: String?) {
        self.path = path
        self.former = former
    }

    enum CodingKeys: String, CodingKey {
        case path, former, settings, daemon, findings, next
        case leftOut = "left_out"
        case keyFile = "key_file"
        case isTakeOverAsked = "take_over_asked"
        case daemonFile = "daemon_file"
        case needRestart = "need_restart"
    }

    /// Whether the take-over follows: names would not resolve by these settings otherwise.
    var takesOver: Bool { isTakeOverAsked && daemon == .reloaded }

    /// Sets the next commands.
    ///
    /// - Parameter isStandardFile: true if the service reads this file.
    mutating func setNext(isStandardFile: Bool) {
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

    /// The next commands as text; empty if there are none. Not part of the text, because a take-over comes in between.
    func nextText(in language: Language) -> String {
        next.isEmpty ? "" : SetupReport.shown(["Next:"] + next.map(SetupReport.indented), language)
    }

    /// The left-out lines as text; empty if the new file has all lines.
    func leftOutText(in language: Language) -> String { SetupReport.shown(leftOutLines, language) }

    private var leftOutLines: [LocalizedText] {
        leftOut.isEmpty ? [] : ["left out of the former file:"] + leftOut.map { "    \($0)" }
    }

    private static func indented(_ command: String) -> LocalizedText { LocalizedText(verbatim: "    \(command)") }

    /// The text for people; ends with a newline.
    func text(in language: Language) -> String {
        var lines: [LocalizedText] = ["wrote \(path)"]
        if let former { lines.append("kept the former file as \(former)") }
        lines += leftOutLines
        if let keyFile { lines.append("wrote the key to \(keyFile)") }
        lines += daemonLines
        if isTakeOverAsked, !takesOver {
            lines.append("nothing was taken over; the resolver of this machine is unchanged")
        }
        return SetupReport.shown(lines, language)
    }

    private var daemonLines: [LocalizedText] {
        let reasons = findings.map(LocalizedText.init(verbatim:))
        switch daemon {
        case .absent: return ["no daemon answers now"]
        case .readsAnotherFile:
            return [
                daemonFile.map { "the running daemon reads \($0), and not this one" }
                    ?? "the running daemon reads another file, and not this one",
                "stop that daemon before you start one with this file",
            ]
        case .reloaded:
            return [
                needRestart.isEmpty
                    ? "settings reloaded"
                    : "settings reloaded; a restart is needed for \(needRestart.joined(separator: ", "))"
            ]
        case .doesNotReload: return reasons + ["the running daemon has not read this file yet"]
        case .refuses:
            return reasons + [
                "the running daemon refuses this file, and continues with its former settings",
                "correct this file before the next restart, or put the former one back",
            ]
        }
    }

    private static func shown(_ lines: [LocalizedText], _ language: Language) -> String {
        lines.map { $0.text(in: language).shown(maxBytes: SystemWorkReport.maxLineBytes) + "\n" }.joined()
    }
}
