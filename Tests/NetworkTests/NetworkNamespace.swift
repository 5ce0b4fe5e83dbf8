// A network namespace for a test, set up by ip(8) and removed with the object. It requires root.

import Glibc
import LinuxIO

final class NetworkNamespace {
    let name: String

    static let isPossible = geteuid() == 0

    init() throws {
        name = "unit\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        try NetworkNamespace.run("ip netns add \(name)")
        // Without duplicate address detection, addresses are usable at once.
        try shell("for each in all default; do echo 0 > /proc/sys/net/ipv6/conf/$each/accept_dad; done")
        try ip("link set lo up")
    }

    deinit {
        _ = try? NetworkNamespace.run("ip netns delete \(name)")
    }

    struct Failure: Error { let command: String }

    @discardableResult
    func ip(_ words: String) throws -> String { try NetworkNamespace.run("ip -n \(name) \(words)") }

    /// Runs the lines as commands of `ip` in one process; each must succeed.
    func ip(lines: [String]) throws {
        let text = lines.joined(separator: "\n") + "\n"
        guard let pipe = unsafe popen("ip -n \(name) -batch -", "w") else { throw Failure(command: "popen") }
        unsafe fputs(text, pipe)
        guard unsafe pclose(pipe) == 0 else { throw Failure(command: text) }
    }

    @discardableResult
    func shell(_ command: String) throws -> String {
        try NetworkNamespace.run("ip netns exec \(name) sh -c '\(command)'")
    }

    /// Runs `body` in the namespace, where its sockets stay. It must not wait, because other code uses the thread too.
    func within<Result>(_ body: () throws -> Result) throws -> Result {
        let outside = FileDescriptor(owning: unsafe open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
        let inside = FileDescriptor(owning: unsafe open("/run/netns/\(name)", O_RDONLY | O_CLOEXEC))
        try enter(inside.raw)
        defer { try? enter(outside.raw) }
        return try body()
    }

    /// Calls setns(2), which Glibc declares for GNU sources only.
    private func enter(_ descriptor: Int32) throws {
        typealias Call = @convention(c) (Int32, Int32) -> Int32
        guard let symbol = unsafe dlsym(nil, "setns") else { throw Failure(command: "dlsym") }
        guard unsafe unsafeBitCast(symbol, to: Call.self)(descriptor, 0) == 0 else { throw Failure(command: "setns") }
    }

    @discardableResult
    private static func run(_ command: String) throws -> String {
        guard let pipe = unsafe popen(command, "r") else { throw Failure(command: "popen") }
        var output: [UInt8] = []
        while true {
            let byte = unsafe fgetc(pipe)
            guard byte >= 0 else { break }
            output.append(UInt8(byte))
        }
        guard unsafe pclose(pipe) == 0 else { throw Failure(command: command) }
        return String(decoding: output, as: UTF8.self)
    }
}
