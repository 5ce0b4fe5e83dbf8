// The text of `httpdnsctl report-bug`: a preface for the person who attaches it, then titled sections of bounded size.

import Control
import Settings

struct BugReport {
    /// The time of the report: "2026-11-21 12:34:56Z".
    let time: String
    let sections: [Section]
    let redaction: ReportRedaction

    struct Section: Equatable {
        let title: String
        let content: Content

        enum Content: Equatable {
            /// A text that is too long loses its end.
            case text(String)
            /// A text that is too long loses its beginning.
            case latest(String)
            /// Why the section has no text.
            case missing(String)
        }
    }

    /// Bound on a section. Twelve sections and the preface are at most 1 MiB, which trackers and mail servers accept.
    static let maxSectionBytes = 80 << 10
    static let maxSections = 12

    var text: String {
        precondition(sections.count <= BugReport.maxSections, "the size of a report is bounded")
        return preface + sections.map { "\n== \($0.title) ==\n\(body($0.content))" }.joined()
    }

    /// One line for each reason: "status, stats: no daemon at /run/httpdnsd/control.sock".
    var missing: [String] {
        var titles: [(reason: String, titles: [String])] = []
        for section in sections {
            guard case .missing(let reason) = section.content else { continue }
            if let index = titles.firstIndex(where: { $0.reason == reason }) {
                titles[index].titles.append(section.title)
            } else {
                titles.append((reason, [section.title]))
            }
        }
        return titles.map { redaction.line("\($0.titles.joined(separator: ", ")): \($0.reason)".utf8) }
    }

    private var preface: String {
        let missing = missing.isEmpty ? "nothing" : missing.joined(separator: "\n         ")
        return """
            Read this file before you attach it: it contains names that this machine resolved, and addresses of its \
            networks.
            Remove what you do not want to show, for example host names of providers that contain your account.

            Left out: keys, accounts, users of proxies, values in errors of the settings, addresses of clients, the
                      path of a provider's URL unless it is a common one such as /dns-query, and what
                      [provider.template] puts into a request. "\(Settings.removed)" stands for them.
            Missing: \(missing)

            httpdnsctl report-bug, \(time)

            """
    }

    private func body(_ content: Section.Content) -> String {
        switch content {
        case .missing(let reason): return redaction.line("missing: \(reason)".utf8) + "\n"
        case .text(let text):
            let lines = BugReport.lines(of: text)
            let kept = shown(lines)
            return kept.joined() + BugReport.note(lines.count - kept.count, "last")
        case .latest(let text):
            let lines = BugReport.lines(of: text)
            let kept = shown(lines.reversed()).reversed()
            return BugReport.note(lines.count - kept.count, "first") + kept.joined()
        }
    }

    private static func lines(of text: String) -> [Substring.UTF8View] {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .dropLast(text.hasSuffix("\n") ? 1 : 0)
    }

    /// Returns the lines that fit into a section, without secrets, each with its line feed. Reads no further line, so
    /// that the cost depends on the report's size, and not on what was collected.
    private func shown(_ lines: some Sequence<Substring.UTF8View>) -> [String] {
        var (shown, left): ([String], Int) = ([], BugReport.maxSectionBytes)
        for line in lines {
            let text = redaction.line(line) + "\n"
            left -= text.utf8.count
            guard left >= 0 else { break }
            shown.append(text)
        }
        return shown
    }

    private static func note(_ count: Int, _ which: String) -> String {
        count == 0 ? "" : "(\(counted(count, "\(which) line", "\(which) lines")) left out)\n"
    }
}
