// A redis-server process at a UNIX socket in a folder of its own. It ends with the value.

import Glibc
import TestSupport

final class RedisServer {
    let path: String
    private let folder = TemporaryFolder.make()
    private let process: pid_t

    init(_ arguments: String...) {
        path = folder + "/redis.sock"
        let words =
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", folder]
            + arguments
        var argv = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe argv.forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, folder + "/log", O_WRONLY | O_CREAT, 0o600)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var process: pid_t = 0
        precondition(
            unsafe posix_spawn(&process, "/usr/bin/redis-server", &actions, nil, &argv, environ) == 0,
            "redis-server starts")
        self.process = process
    }

    func signal(_ number: Int32) { kill(process, number) }

    deinit {
        kill(process, SIGKILL)
        var status: Int32 = 0
        unsafe waitpid(process, &status, 0)
    }
}
