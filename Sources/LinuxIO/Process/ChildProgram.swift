// A program that is run to its end, with a deadline and a bound on what it says. For command-line programs: it blocks.

import Glibc

package struct ChildProgram: Sendable {
    /// 0 when all is well; 128 and the number of the signal that ended it.
    package let exitCode: Int32
    /// Of both streams; cut to the bound.
    package let output: [UInt8]

    /// Where the system's own programs are, whatever the caller's environment says.
    private static let directories = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]

    package static func path(of name: String) -> String? {
        directories.lazy.map { "\($0)/\(name)" }.first { path in unsafe access(path, X_OK) == 0 }
    }

    /// - Parameter name: without a path.
    /// - Throws: ENOENT without such a program; ETIMEDOUT, and then it has been killed.
    package static func run(
        _ name: String, _ arguments: [String], timeout: Duration, maxBytes: Int
    ) throws(SystemError) -> ChildProgram {
        guard let path = path(of: name) else { throw SystemError(call: "exec", code: ENOENT) }
        var ends: [Int32] = [-1, -1]
        try SystemCall.run("pipe") { unsafe pipe(&ends) }
        let reading = FileDescriptor(owning: ends[0])
        let writing = FileDescriptor(owning: ends[1])
        // A program that is run gets its streams and nothing else.
        for end in ends { try SystemCall.run("fcntl") { fcntl(end, F_SETFD, FD_CLOEXEC) } }
        let process = try spawn(path, [name] + arguments, output: writing)
        let deadline = Clock.now() + timeout
        var output: [UInt8] = []
        // A grandchild may keep the pipe open for good, and the child close it and go on: its end is looked for, too.
        var isOpen = true
        while true {
            // Of no descriptor: nothing but the time until the next look.
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

    /// - Parameter atOnce: nil while it runs; else it is waited for.
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

    /// To be freed; a nil ends the list.
    private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        var list: [UnsafeMutablePointer<CChar>?] = unsafe []
        for text in texts { unsafe list.append(strdup(text)) }
        return unsafe list + [nil]
    }
}
