// Writes text to the standard streams, with invisible characters escaped: names, files and providers may hold some.
// Unbuffered, so that a crash loses nothing; text that cannot be written is lost.

import DNSWire
import Glibc

package enum StandardStreams {
    package static func writeOutput(_ text: String) { _ = write(text.printable, to: STDOUT_FILENO) }

    /// Writes text with control sequences of our own.
    static func writeScreen(_ text: String) { _ = write(text, to: STDOUT_FILENO) }

    /// Writes text to standard error. Waits for the reader.
    ///
    /// - Returns: false if the text could not be written.
    @discardableResult
    package static func writeError(_ text: String) -> Bool { write(text.printable, to: STDERR_FILENO) }

    package static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    package static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether standard error is the journal, which strips priority prefixes from lines. JOURNAL_STREAM holds the
    /// journal's device and inode (systemd.exec(5)); a redirected stream has others.
    package static var isErrorTheJournal: Bool {
        guard let stream = Environment.value(of: "JOURNAL_STREAM") else { return false }
        var status = stat()
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var written = 0
            while written < bytes.count {
                let count = unsafe Glibc.write(
                    descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN, awaitRoom(descriptor) { continue }
                guard count > 0 else { return false }
                written += count
            }
            return true
        }
    }

    /// Waits until the stream has room. Another program that holds the same terminal or pipe may have made it
    /// non-blocking.
    private static func awaitRoom(_ descriptor: Int32) -> Bool {
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&room, 1, -1) == 1 || errno == EINTR
    }
}

extension String {
    /// The text with all characters that move a cursor or the writing direction, except line feeds, as JSON's escapes.
    /// JSON text keeps its meaning: outside of its strings it has no such characters.
    package var printable: String {
        // Nearly all text is ASCII.
        let isPlain = utf8.allSatisfy { (0x20..<0x7F).contains($0) || $0 == UInt8(ascii: "\n") }
        guard !isPlain, unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
        return unicodeScalars.map { $0.isPrintable ? String($0) : $0.jsonEscape }.joined()
    }
}

extension Unicode.Scalar {
    fileprivate var isPrintable: Bool { isVisible || self == "\n" }

    /// The character as JSON's escapes of its UTF-16 form (RFC 8259 section 7).
    fileprivate var jsonEscape: String {
        UTF16.encode(self).map { units in
            units.map { "\\u\($0.digits(4, radix: 16))" }.joined()
        } ?? ""
    }
}
