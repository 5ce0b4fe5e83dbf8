// The terminal that a program draws a screen on. As long as a `Terminal` lives, keys come one by one and the screen is
// another one than the shell's; afterwards everything is as it was.

import Glibc

package struct Terminal: ~Copyable {
    private let before: termios

    /// Keyboard and screen are both a terminal.
    package static var isThere: Bool { isatty(STDIN_FILENO) == 1 && StandardStreams.isOutputTerminal }

    /// Nil when none is there.
    package init?() {
        var settings = termios()
        guard Terminal.isThere, unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        unsafe cfmakeraw(&settings)
        // Ctrl-C is still a signal, and a line feed still begins a line.
        settings.c_lflag |= tcflag_t(ISIG)
        settings.c_oflag |= tcflag_t(OPOST)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        StandardStreams.writeOutput("\u{1B}[?1049h\u{1B}[?25l")
    }

    deinit {
        StandardStreams.writeOutput("\u{1B}[?25h\u{1B}[?1049l")
        var settings = before
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    /// To be watched for keys.
    package var keyboard: Int32 { STDIN_FILENO }

    /// Keys that wait, once the keyboard is readable; empty when it is gone.
    package static func takeKeys() throws(SystemError) -> [UInt8] {
        try unsafe SystemCall.bytes("read", maxBytes: 64) { unsafe read(STDIN_FILENO, $0, $1) } ?? []
    }

    /// In the place of what stands there.
    package func show(_ lines: [String]) {
        StandardStreams.writeOutput("\u{1B}[H" + lines.joined(separator: "\u{1B}[K\n") + "\u{1B}[K\u{1B}[J")
    }

    /// Columns and rows; those of a small terminal where it does not say.
    package var size: (columns: Int, rows: Int) {
        var size = winsize()
        let result = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
        guard result == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Sent when the terminal's size has changed.
    package static let resizeSignal = SIGWINCH
    /// Signals that end a program on a terminal.
    package static let endSignals = [SIGINT, SIGTERM, SIGQUIT, SIGHUP]
    /// Caught and ignored by a drawing program: a stopped program could not restore the screen.
    package static let stopSignal = SIGTSTP
}
