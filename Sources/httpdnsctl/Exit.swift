// Error exits of httpdnsctl: one line on standard error, and an exit code per kind of failure.

import LinuxIO

enum Exit {
    static let failed: Int32 = 1
    static let cannotConnect: Int32 = 2
    static let usage: Int32 = 3
}

func fail(_ text: String, _ code: Int32) -> Never {
    StandardStreams.writeError("httpdnsctl: \(text)\n")
    Process.exit(code)
}

/// Exits after a failed exchange with the daemon.
func fail(_ error: SystemError, at socket: String) -> Never {
    guard error.call == "connect" else { fail("no answer from the daemon at \(socket): \(error)", Exit.failed) }
    fail("cannot reach the daemon at \(socket): \(error)\nis httpdnsd running? see --socket", Exit.cannotConnect)
}
