// Runs a program to its end with a deadline and a limit on its output. Blocks; for command-line programs only.

package import DNSWire
import Glibc

package struct ChildProgram: Sendable {
    /// The exit code: 0 for success; 128 plus the signal number if a signal ended the program.
    package let exitCode: Int32
    /// Standard output and standard error together, truncated at the limit.
    package let output: [UInt8]

    /// Directories of the system's own programs, independent of the caller's PATH.
    private static let directories = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]

    package static func path(of name: String) -> String? {
        directories.lazy.map { "\($0)/\(name)" }.first { path in unsafe access(path, X_OK) == 0 }
    }

    /// - Parameter name: name without a path.
    /// - Throws: ENOENT if there is no such program; ETIMEDOUT after killing it.
    package static func run(
        _ name: String, _ arguments: [String], timeout: Duration, maxBytes: Int
    ) throws(SystemError) -> ChildProgram {
        guard let path = path(of: name) else { throw SystemError(call: "exec", code: ENOENT) }
        var ends: [Int32] = [-1, -1]
        try SystemCall.run("pipe") { unsafe pipe(&ends) }
        let reading = FileDescriptor(owning: ends[0])
        let writing = FileDescriptor(owning: ends[1])
        // The child inherits only its standard streams.
        for end in ends { try SystemCall.run("fcntl") { fcntl(end, F_SETFD, FD_CLOEXEC) } }
        let process = try spawn(path, [name] + arguments, output: writing)
        let deadline = Clock.now() + timeout
        var output: [UInt8] = []
        // A grandchild may keep the pipe open, and the child may close it and continue, so its end is checked
        // separately.
        var isOpen = true
        while true {
            // Polling no descriptor waits for the timeout only.
            var entry = pollfd(fd: isOpen ? reading.raw : -1, events: Int16(POLLIN), revents: 0)
            let ready = try SystemCall.run("poll") { unsafe poll(&entry, 1, lookMilliseconds) }
            let chunk = ready > 0 ? try read(reading) : []
            output += chunk.prefix(maxBytes - output.count)
            if ready > 0, chunk.isEmpty { isOpen = false }
            if chunk.isEmpty, let exitCode = ended(process, atOnce: true) {
                return ChildProgram(exitCode: exitCode, output: output)
            }
            guard Clock.now() < deadline else {
                kill(process, SIGKILL)
                _ = ended(process, atOnce: false)
                throw SystemError(call: name, code: ETIMEDOUT)
            }
        }
    }

    private static let lookMilliseconds: Int32 = 20
    private static let chunkBytes = 16 * 1024

    private static func read(_ pipe: borrowing FileDescriptor) throws(SystemError) -> [UInt8] {
        let raw = pipe.raw
        return try unsafe SystemCall.bytes("read", maxBytes: chunkBytes) { unsafe Glibc.read(raw, $0, $1) } ?? []
    }

    /// - Parameter atOnce: true returns nil if the process still runs; false waits for it.
    private static func ended(_ process: pid_t, atOnce: Bool) -> Int32? {
        var status: Int32 = 0
        while true {
            let result = unsafe waitpid(process, &status, atOnce ? WNOHANG : 0)
            if result < 0, errno == EINTR { continue }
            guard result == process else { return nil }
            let signal = status & 0x7F
            return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        }
    }

    private static func spawn(
        _ path: String, _ words: [String], output: consuming FileDescriptor
    ) throws(SystemError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.raw, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.raw, STDERR_FILENO)
        let search = "PATH=" + directories.joined(separator: ":")
        var arguments = unsafe cStrings(words)
        var environment = unsafe cStrings([search, "LC_ALL=C"])
        defer {
            unsafe (arguments + environment).forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        let code = unsafe posix_spawn(&process, path, &actions, nil, &arguments, &environment)
        guard code == 0 else { throw SystemError(call: "posix_spawn", code: code) }
        return process
    }

    /// Returns C strings that the caller must free. A nil ends the list.
    private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        var list: [UnsafeMutablePointer<CChar>?] = unsafe []
        for text in texts { unsafe list.append(strdup(text)) }
        return unsafe list + [nil]
    }
}
