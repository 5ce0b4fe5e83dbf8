// Lines that a person types on the terminal. Ctrl-C and other signals end the input instead of the process, so that the
// program can say what it did not do.

import Glibc

package final class TerminalLines {
    private let signals: SignalWatch
    private var ready: PollSet

    /// Bound on a line: more than the kernel's longest line.
    private static let maxLineBytes = 4096

    /// Blocks the signals that end a program until `release`.
    package init() throws(SystemError) {
        signals = try SignalWatch(Terminal.endSignals)
        ready = PollSet([STDIN_FILENO, signals.descriptor])
    }

    /// Shows the prompt, waits for a line, and returns it without its line feed. Nil: a signal came, or the input has
    /// ended.
    ///
    /// - Parameter isHidden: the terminal does not show what is typed from the prompt on.
    package func next(after prompt: String, isHidden: Bool) throws(SystemError) -> String? {
        let hidden = isHidden ? HiddenInput() : nil
        defer { _ = hidden }
        StandardStreams.writeOutput(prompt)
        try ready.wait()
        guard try signals.takeSignals().isEmpty else { return nil }
        let bytes = try unsafe SystemCall.bytes("read", maxBytes: TerminalLines.maxLineBytes) {
            unsafe read(STDIN_FILENO, $0, $1)
        }
        guard let bytes, !bytes.isEmpty else { return nil }
        return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }

    /// Restores the usual effect of the signals.
    package func release() { signals.unblock() }
}

/// The terminal without echo, except for the line feed. Deinitialisation restores the former mode.
private struct HiddenInput: ~Copyable {
    private let before: termios

    /// Returns nil without a terminal.
    init?() {
        var settings = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        settings.c_lflag |= tcflag_t(ECHONL)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    deinit {
        var settings = before
        unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    }
}
