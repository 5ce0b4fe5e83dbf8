// Where a bug report goes: a new file that only its owner can read, or standard output.

import Control
import LinuxIO

struct ReportFile {
    private let path: String

    /// Bound on the shown path: far more than a person reads, and any path is at most as long.
    private static let maxShownBytes = 4096

    /// - Parameter path: nil: a file in the current directory, named after the time.
    init(_ path: String?, at time: String) {
        let digits = time.filter(\.isNumber)
        self.path = path ?? "./httpdnsd-report-\(digits.prefix(8))-\(digits.dropFirst(8)).txt"
    }

    /// Prints the report, or writes it and prints its path and the next step.
    func take(_ report: BugReport, wantsJSON: Bool) {
        let text = report.text
        guard path != Invocation.standardOutput else { return StandardStreams.writeOutput(text) }
        do throws(SystemError) {
            try NewFile.write(Array(text.utf8), at: path)
        } catch {
            let shown = path.shown(maxBytes: ReportFile.maxShownBytes)
            fail("can't write \(shown): \(error); \(remedy(error)) with --output FILE", Exit.failed)
        }
        let written = WrittenReport(path: path, bytes: text.utf8.count, missing: report.missing)
        StandardStreams.writeOutput(written.rendered(asJSON: wantsJSON))
    }

    /// Returns the remedy. Only a file may be removed: a link or a device, such as /dev/stdout, belongs to the system.
    private func remedy(_ error: SystemError) -> String {
        guard error.isAlreadyThere else { return "name another file" }
        return FileStatus.isRegularFile(path)
            ? "remove it, or name another file"
            : "it is not a regular file; use --output - for standard output, or name a new file"
    }
}
