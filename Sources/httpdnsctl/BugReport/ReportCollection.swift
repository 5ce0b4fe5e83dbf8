// Collects a bug report from the daemon, this machine's files and the journal. What is not available becomes a section
// with the reason. Changes nothing.

import Control
import DNSWire
import LinuxIO
import Settings

struct ReportCollection {
    private let examination: Examination
    private let startedAt = Clock.now()
    /// Why the daemon gave no complete answer. It is not asked again, because each question may take as long.
    private var failure: String?

    /// Time limit of one question or program. The daemon answers from memory; a longer answer means that it hangs.
    private static let timeout = Duration.seconds(5)
    /// Time limit of the whole report: no section is begun later.
    private static let maxTime = Duration.seconds(30)
    /// The time after which the operator sees what is being collected.
    private static let silence = Duration.seconds(2)
    /// Bound on an answer: more than any report of a daemon.
    private static let maxAnswerBytes = 1 << 20
    /// Bound on the flight recorder's events: all those of a daemon with hundreds of threads. Only the last ones are
    /// kept.
    private static let maxRecorderBytes = 512 << 20
    private static let maxEvents = 500
    private static let maxLogLines = 200

    /// - Parameters:
    ///   - settings: settings file; nil: that of the daemon at the socket, else the default path.
    ///   - socket: as on the command line.
    init(settings: String?, socket: String) {
        examination = Examination(settings: settings, socket: socket)
    }

    mutating func report() -> BugReport {
        typealias Part = (title: String, content: (inout ReportCollection) -> BugReport.Section.Content)
        var parts: [Part] = [
            ("versions", { .text(MachineFacts.versions(ofDaemon: $0.examination.status?.version)) }),
            ("machine", { _ in .text(MachineFacts.machine) }),
            ("settings", { $0.settings }),
            ("status", { it in it.status.map { .text($0.text) } ?? .missing(it.absence) }),
            ("doctor", { $0.doctor }),
        ]
        parts += ["providers", "network", "network history", "stats"].map { command in
            (command, { $0.answer(to: command) })
        }
        parts += [("log", { $0.log }), ("recorder", { $0.events() })]
        var sections: [BugReport.Section] = []
        for (title, content) in parts {
            showProgress(title)
            sections.append(
                BugReport.Section(title: title, content: timeLeft > .zero ? content(&self) : .missing(Self.noTime)))
        }
        return BugReport(
            time: LineFormat.moment(secondsSince1970: Clock.wallMilliseconds() / 1000), sections: sections,
            redaction: ReportRedaction(examination.settings.settings))
    }

    private var timeLeft: Duration { Clock.now().duration(to: startedAt + ReportCollection.maxTime) }
    private static let noTime = "the other sections took \(maxTime.wholeSeconds) s"

    private func showProgress(_ title: String) {
        guard StandardStreams.isErrorTerminal, Clock.now() > startedAt + ReportCollection.silence else { return }
        StandardStreams.writeError("httpdnsctl: collecting \(title)\n")
    }

    /// The daemon's status without the key of explanations.
    private var status: StatusReport? {
        var status = examination.status
        status?.explanationKey = nil
        return status
    }

    private var settings: BugReport.Section.Content {
        let file = examination.settings
        guard file.complaints.isEmpty else {
            let what = "# \(file.path) cannot be used. The daemon runs with what it has read before, if it runs.\n"
            return .text(what + file.complaints.map { $0.english + "\n" }.joined())
        }
        let source = file.isThere ? file.path : "built-in defaults; \(file.path) does not exist"
        return .text("# \(source)\n\(file.settings.redacted.effectiveTOML)")
    }

    private var doctor: BugReport.Section.Content {
        do throws(SystemError) {
            return .text(try examination.run().text(in: .english))
        } catch {
            return .missing("\(error)")
        }
    }

    // MARK: daemon

    /// Why the daemon gives no status.
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

    private mutating func answer(to line: String) -> BugReport.Section.Content {
        ask(line, maxBytes: ReportCollection.maxAnswerBytes) { .text(String(decoding: $0, as: UTF8.self)) }
    }

    /// Returns the latest events without the addresses of clients, which another command shows.
    private mutating func events() -> BugReport.Section.Content {
        ask("recorder dump", maxBytes: ReportCollection.maxRecorderBytes) { end in
            // The last line is the number of events.
            let lines = end.split(separator: UInt8(ascii: "\n")).suffix(ReportCollection.maxEvents + 1)
            return .latest(lines.map { "\(String(decoding: $0, as: UTF8.self))\n" }.joined())
        }
    }

    /// - Parameters:
    ///   - maxBytes: a longer answer is a failure.
    ///   - content: takes the last 1 to 2 MiB of an answer.
    private mutating func ask(
        _ line: String, maxBytes: Int, _ content: ([UInt8]) -> BugReport.Section.Content
    ) -> BugReport.Section.Content {
        guard examination.status != nil, let socket = examination.socket else { return .missing(absence) }
        if let failure { return .missing(failure) }
        let timeout = min(ReportCollection.timeout, timeLeft)
        var end: [UInt8] = []
        do throws(SystemError) {
            try LocalExchange.ask(
                line, at: socket, timeout: timeout, silence: timeout, total: timeout, maxBytes: maxBytes
            ) { part in
                end += part
                if end.count > 2 * ReportCollection.maxAnswerBytes {
                    end.removeFirst(end.count - ReportCollection.maxAnswerBytes)
                }
            }
        } catch {
            let failure = "no complete answer from the daemon at \(socket): \(error)"
            self.failure = failure
            return .missing(failure)
        }
        return Reply.isRefusal(end)
            ? .missing(String(decoding: end.filter { $0 != UInt8(ascii: "\n") }, as: UTF8.self)) : content(end)
    }

    // MARK: journal

    private var log: BugReport.Section.Content {
        let unit = "httpdnsd.service"
        do throws(SystemError) {
            let ended = try ChildProgram.run(
                "journalctl",
                ["--unit", unit, "--lines", "\(ReportCollection.maxLogLines)", "--output", "short-iso", "--no-pager"],
                timeout: min(ReportCollection.timeout, timeLeft), maxBytes: ReportCollection.maxAnswerBytes)
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
