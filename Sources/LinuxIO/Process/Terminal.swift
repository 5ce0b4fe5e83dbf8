// Terminal in raw mode with the alternate screen. Deinitialisation restores the former mode and screen.

import Glibc

package struct Terminal: ~Copyable {
    private let before: termios

    /// Whether standard input and output are terminals.
    package static var isThere: Bool { isatty(STDIN_FILENO) == 1 && StandardStreams.isOutputTerminal }

    /// Returns nil without a terminal.
    package init?() {
        var settings = termios()
        guard Terminal.isThere, unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        unsafe cfmakeraw(&settings)
        // Ctrl-C still sends a signal, and a line feed still starts a line.
        settings.c_lflag |= tcflag_t(ISIG)
        settings.c_oflag |= tcflag_t(OPOST)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        StandardStreams.writeScreen("\u{1B}[?1049h\u{1B}[?25l")
    }

    deinit {
        StandardStreams.writeScreen("\u{1B}[?25h\u{1B}[?1049l")
        var settings = before
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    /// Descriptor to watch for keys.
    package var keyboard: Int32 { STDIN_FILENO }

    /// Returns the pending keys once the keyboard is readable; empty after the terminal has closed.
    package static func takeKeys() throws(SystemError) -> [UInt8] {
        try unsafe SystemCall.bytes("read", maxBytes: 64) { unsafe read(STDIN_FILENO, $0, $1) } ?? []
    }

    /// Replaces the text on the screen.
    package func show(_ lines: [String]) {
        StandardStreams.writeScreen("\u{1B}[H" + lines.joined(separator: "\u{1B}[K\n") + "\u{1B}[K\u{1B}[J")
    }

    /// Columns and rows; those of a small terminal if unknown.
    package var size: (columns: Int, rows: Int) {
        var size = winsize()
        let result = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
        guard result == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// The signal that is sent when the terminal's size has changed.
    package static let resizeSignal = SIGWINCH
    /// Signals that end a program on a terminal.
    package static let endSignals = [SIGINT, SIGTERM, SIGQUIT, SIGHUP]
    /// The signal that a drawing program catches and ignores: a stopped program could not restore the screen.
    package static let stopSignal = SIGTSTP
}
