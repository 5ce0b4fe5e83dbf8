// Writes text to the standard streams. Unbuffered, so that a crash loses nothing; text that cannot be written is lost.

import Glibc

package enum StandardStreams {
    package static func writeOutput(_ text: String) { write(text, to: STDOUT_FILENO) }
    package static func writeError(_ text: String) { write(text, to: STDERR_FILENO) }

    package static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    package static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether standard error is the journal, which strips priority prefixes from lines. JOURNAL_STREAM holds its
    /// device and inode (systemd.exec(5)); a redirected stream has others.
    package static var isErrorTheJournal: Bool {
        guard let stream = Environment.value(of: "JOURNAL_STREAM") else { return false }
        var status = stat()
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var written = 0
            while written < bytes.count {
                let count = unsafe Glibc.write(
                    descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                written += count
            }
        }
    }
}
