// Collects a bug report from the daemon, this machine's files and the journal. What is not available becomes a section
// with the reason. Changes nothing.

import Control
import DNSWire
import LinuxIO
import Settings

struct ReportCollection {
    private let examination: Examination
    private let startedAt = Clock.now()

    /// The daemon answers from memory; a longer silence means that it has stopped.
    private static let timeout = Duration.seconds(5)
    /// After this time the operator sees what is being collected.
    private static let silence = Duration.seconds(2)
    /// The end of an answer that is kept; of the flight recorder, one event for each line.
    private static let maxAnswerBytes = 1 << 20
    private static let maxEvents = 500
    private static let maxLogLines = 200

    /// - Parameters:
    ///   - settings: settings file; nil: that of the daemon at the socket, else the default path.
    ///   - socket: as on the command line.
    init(settings: String?, socket: String) {
        examination = Examination(settings: settings, socket: socket)
    }

    func report() -> BugReport {
        var sections: [BugReport.Section] = []
        func add(_ title: String, _ content: @autoclosure () -> BugReport.Section.Content) {
            showProgress(title)
            sections.append(BugReport.Section(title: title, content: content()))
        }
        add("versions", .text(MachineFacts.versions(ofDaemon: examination.status?.version)))
        add("machine", .text(MachineFacts.machine))
        add("settings", settings)
        add("status", examination.status.map { .text($0.text) } ?? .missing(absence))
        add("doctor", doctor)
        for command in ["providers", "network", "network history", "stats"] { add(command, answer(to: command)) }
        add("log", log)
        add("recorder", events)
        return BugReport(
            time: LineFormat.moment(secondsSince1970: Clock.wallMilliseconds() / 1000), sections: sections,
            redaction: ReportRedaction(examination.settings.settings))
    }

    private func showProgress(_ title: String) {
        guard StandardStreams.isErrorTerminal, Clock.now() > startedAt + ReportCollection.silence else { return }
        StandardStreams.writeError("httpdnsctl: collecting \(title)\n")
    }

    private var settings: BugReport.Section.Content {
        let file = examination.settings
        guard file.complaints.isEmpty else {
            let what = "# \(file.path) cannot be used. The daemon runs with what it has read before, if it runs.\n"
            return .text(what + file.complaints.map { "\($0)\n" }.joined())
        }
        let source = file.isThere ? file.path : "built-in defaults; \(file.path) does not exist"
        return .text("# \(source)\n\(file.settings.redacted.effectiveTOML)")
    }

    private var doctor: BugReport.Section.Content {
        do throws(SystemError) {
            return .text(try examination.run().rendered(asJSON: false))
        } catch {
            return .missing("\(error)")
        }
    }

    // MARK: daemon

    /// Why the daemon gives nothing.
    private var absence: String {
        let socket = examination.socket ?? ""
        return switch examination.control {
        case .answers: "the daemon at \(socket) gave another answer than its status"
        case .none: "control.socket is off in the settings"
        case .absent(let error): "no daemon at \(socket): \(error)"
        case .denied: "this user may not open \(socket)"
        case .silent: "the daemon at \(socket) does not answer"
        case .startedByQuestions: "the daemon does not run; httpdnsd.socket starts it with the first query"
        }
    }

    /// A daemon that hangs is not asked again, because each answer would be awaited.
    private func answer(to line: String) -> BugReport.Section.Content {
        guard examination.status != nil, let socket = examination.socket else { return .missing(absence) }
        var answer: [UInt8] = []
        do throws(SystemError) {
            try LocalExchange.ask(
                line, at: socket, timeout: ReportCollection.timeout, silence: ReportCollection.timeout,
                maxBytes: Int.max
            ) { part in
                answer += part
                if answer.count > 2 * ReportCollection.maxAnswerBytes {
                    answer.removeFirst(answer.count - ReportCollection.maxAnswerBytes)
                }
            }
        } catch {
            return .missing("the daemon at \(socket) does not answer: \(error)")
        }
        let text = String(decoding: answer, as: UTF8.self)
        return Reply.isRefusal(answer) ? .missing(text.filter { $0 != "\n" }) : .text(text)
    }

    /// Without the addresses of clients, which another command shows.
    private var events: BugReport.Section.Content {
        let answer = answer(to: "recorder dump")
        guard case .text(let text) = answer else { return answer }
        // The last line is their number.
        let lines = text.split(separator: "\n").suffix(ReportCollection.maxEvents + 1)
        return .latest(lines.map { "\($0)\n" }.joined())
    }

    // MARK: journal

    private var log: BugReport.Section.Content {
        let unit = "httpdnsd.service"
        do throws(SystemError) {
            let ended = try ChildProgram.run(
                "journalctl",
                ["--unit", unit, "--lines", "\(ReportCollection.maxLogLines)", "--output", "short-iso", "--no-pager"],
                timeout: ReportCollection.timeout, maxBytes: ReportCollection.maxAnswerBytes)
            let text = String(decoding: ended.output, as: UTF8.self)
            let isEmpty = text.hasSuffix("-- No entries --\n")
            guard ended.exitCode == 0, !isEmpty else {
                return .missing("journalctl: \(text.split(separator: "\n").first ?? "no output")")
            }
            return .latest(text)
        } catch {
            return .missing(error.isNoSuchFile ? "journalctl is not installed" : "\(error)")
        }
    }
}
