// Properties of the machine and of this process.

import CLinux
import Glibc

package enum Machine {
    /// The process's working directory; "/" if it was removed.
    package static var currentDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// Processors this process may use; a container may grant fewer than the machine has.
    package static var coreCount: Int { max(1, Int(clinux_processors())) }

    /// The machine's host name; empty if unknown.
    package static var hostName: String {
        var name = [CChar](repeating: 0, count: maxHostNameBytes + 1)
        guard unsafe gethostname(&name, maxHostNameBytes) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// HOST_NAME_MAX of Linux.
    private static let maxHostNameBytes = 64

    /// Returns unused memory of the process to the system, which the C library would keep. Takes milliseconds.
    package static func returnMemory() { clinux_return_memory() }

    /// Unmaps the program's pages; those that are used come back from the page cache, 64 KiB at a time. Called after
    /// the start, which uses most of them once: the kernel reclaims unmapped pages first when memory is short.
    package static func unmapProgram() { clinux_unmap_program() }

    package static var processID: Int32 { getpid() }

    /// Maximum number of open descriptors (RLIMIT_NOFILE); 0 if unknown.
    package static var descriptorLimit: Int { Int(clamping: clinux_descriptor_limit()) }

    /// Raises the soft limit to the hard limit, which needs no privilege. Most systems set 1,024 for programs with
    /// select(2), which the daemon does not use, and half a million as the hard limit.
    package static func raiseDescriptorLimit() throws(SystemError) {
        let code = clinux_raise_descriptor_limit()
        guard code == 0 else { throw SystemError(call: "setrlimit", code: code) }
    }

    /// Name of the environment variable that configures a proxy; nil without one. HTTP_PROXY is ignored, because CGI
    /// programs get it from clients (CVE-2016-5385).
    package static var proxyVariable: String? {
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].first { name in
            Environment.value(of: name).map { !$0.isEmpty } ?? false
        }
    }

    /// Effective user and group of the process.
    package static var user: (userID: UInt32, groupID: UInt32) { (geteuid(), getegid()) }

    /// The uid of `nobody` and the gid of `nogroup` (65534). Other programs may use them too, so they do not identify
    /// the daemon. They are also the kernel's default for ids that it cannot represent (user_namespaces(7)).
    package static let sharedID: UInt32 = 65_534

    /// Whether other programs may run with the same uid.
    package static var hasSharedUser: Bool { user.userID == sharedID }
}

package enum Environment {
    /// Returns nil if the variable is not set.
    package static func value(of name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }

    /// Returns the value and removes the variable. Call before other threads exist, because they may read the
    /// environment.
    package static func take(_ name: String) -> String? {
        defer { unsafe unsetenv(name) }
        return value(of: name)
    }
}

package enum Process {
    /// The file name under which the program was started; empty without one.
    package static let name: String = {
        let path = CommandLine.arguments.first ?? ""
        return String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }()

    package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }
}

/// Signals that control the daemon.
package enum StopSignal {
    package static let all = [SIGTERM, SIGINT]
    package static let reload = SIGHUP

    package static func name(_ signal: Int32) -> String { signal == SIGINT ? "SIGINT" : "SIGTERM" }
}
