// Where a bug report goes: a new file that only its owner can read, or standard output.

import Control
import LinuxIO

struct ReportFile {
    private let path: String

    /// Means standard output.
    private static let output = "-"

    /// - Parameter path: nil: a file in the current directory, named after the time.
    init(_ path: String?, at time: String) {
        let digits = time.filter(\.isNumber)
        self.path = path ?? "./httpdnsd-report-\(digits.prefix(8))-\(digits.dropFirst(8)).txt"
    }

    /// Prints the report, or writes it and prints where it is and the next step.
    func take(_ report: BugReport, wantsJSON: Bool) {
        let text = report.text
        guard path != ReportFile.output else { return StandardStreams.writeOutput(text) }
        do throws(SystemError) {
            try NewFile.write(Array(text.utf8), at: path)
        } catch {
            let remedy = error.isAlreadyThere ? "remove it, or name" : "name"
            fail("can't write \(path): \(error); \(remedy) another file with --output FILE", Exit.failed)
        }
        let written = WrittenReport(path: path, bytes: text.utf8.count, missing: report.missing)
        StandardStreams.writeOutput(written.rendered(asJSON: wantsJSON))
    }
}
