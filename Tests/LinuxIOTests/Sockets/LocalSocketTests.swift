// UNIX sockets: the ownership of a path, and the exchange of one line for a reply.

import DNSWire
import Glibc
import Testing

@testable import LinuxIO

struct LocalSocketTests {
    private let directory = TemporaryDirectory()

    @Test func `a line goes to the server and everything comes back`() throws {
        let path = directory("socket")
        let server = try LocalSocket(path: path, mode: 0o600)
        let answer = [UInt8](repeating: 0x61, count: 300_000)
        let thread = try NamedThread("answers") {
            guard becomesReady(server.descriptor.raw), let client = try? server.accept()?.socket else { return }
            guard becomesReady(client.descriptor.raw),
                (try? client.read(maxBytes: 100)) == .bytes(Array("stats\n".utf8))
            else { return }
            var rest = answer[...]
            while !rest.isEmpty, becomesReady(client.descriptor.raw, for: POLLOUT) {
                rest = rest.dropFirst((try? client.write(rest.span)).flatMap { $0 } ?? 0)
            }
        }
        let received = Result { try LocalExchange.ask("stats", at: path, timeout: patience, maxBytes: 300_000) }
        thread.join()
        #expect(try received.get() == answer)
    }

    @Test func `the server knows the user of its client`() throws {
        let server = try LocalSocket(path: directory("socket"), mode: 0o600)
        let client = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM)
        try LocalAddress(directory("socket")).connect(client)
        let peer = try #require(try server.accept()).peer
        #expect((peer.processID, peer.userID, peer.groupID) == (getpid(), getuid(), getgid()))
        #expect(try server.accept() == nil)
    }

    @Test func `a file left from a crash is replaced`() throws {
        let path = directory("socket")
        try LocalAddress(path).bind(FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM))
        let server = try LocalSocket(path: path, mode: 0o600)
        try LocalAddress(path).connect(FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM))
        #expect(try server.accept() != nil)
    }

    @Test func `a path on which a server answers is in use`() throws {
        let path = directory("socket")
        let server = try LocalSocket(path: path, mode: 0o600)
        #expect(throws: SystemError(call: "bind", code: EADDRINUSE)) { try LocalSocket(path: path, mode: 0o600) }
        #expect(throws: Never.self) {
            try LocalAddress(path).connect(FileDescriptor(socketOf: AF_UNIX, type: SOCK_STREAM))
        }
        withExtendedLifetime(server) {}
    }

    @Test func `a file that is no socket is left alone`() throws {
        directory.write("precious", to: "file")
        #expect(throws: SystemError(call: "bind", code: EADDRINUSE)) {
            try LocalSocket(path: directory("file"), mode: 0o600)
        }
        #expect(try TextFile.read(directory("file"), maxBytes: 100) == Array("precious".utf8))
    }

    @Test func `the mode is as asked, whatever the umask`() throws {
        let server = try LocalSocket(path: directory("socket"), mode: 0o666)
        var status = stat()
        try #require(unsafe lstat(directory("socket"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o666)
        withExtendedLifetime(server) {}
    }

    @Test func `closing removes the file, unless a successor has taken the path`() throws {
        let path = directory("socket")
        var server: LocalSocket? = try LocalSocket(path: path, mode: 0o600)
        server = nil
        #expect(unsafe access(path, F_OK) == -1)
        server = try LocalSocket(path: path, mode: 0o600)
        try #require(unsafe rename(path, directory("moved")) == 0)
        let successor = try LocalSocket(path: path, mode: 0o600)
        withExtendedLifetime(server) {}
        server = nil
        #expect(unsafe access(path, F_OK) == 0)
        withExtendedLifetime(successor) {}
    }

    @Test func `a path that is too long, empty or cut by a zero byte is refused`() {
        let tooLong = "/tmp/" + String(repeating: "x", count: 103)
        #expect(throws: SystemError(call: "bind", code: ENAMETOOLONG)) { try LocalSocket(path: tooLong, mode: 0) }
        #expect(throws: SystemError(call: "bind", code: EINVAL)) { try LocalSocket(path: "", mode: 0) }
        #expect(throws: SystemError(call: "bind", code: EINVAL)) { try LocalSocket(path: "/tmp/a\0b", mode: 0) }
    }

    @Test func `a server that stays silent ends in a time-out`() throws {
        let server = try LocalSocket(path: directory("socket"), mode: 0o600)
        #expect(throws: SystemError(call: "recv", code: ETIMEDOUT)) {
            try LocalExchange.ask("stats", at: directory("socket"), timeout: .milliseconds(20), maxBytes: 10)
        }
        withExtendedLifetime(server) {}
    }

    @Test func `an answer that comes in steps has a time-out of its own for each silence`() throws {
        let server = try LocalSocket(path: directory("socket"), mode: 0o600)
        var took = 0
        #expect(throws: SystemError(call: "recv", code: ETIMEDOUT)) {
            try LocalExchange.ask(
                "stats", at: directory("socket"), timeout: patience, silence: .milliseconds(20), maxBytes: 10
            ) { took += $0.count }
        }
        #expect(took == 0)
        withExtendedLifetime(server) {}
    }

    @Test func `an answer that never ends is cut off by the limit for all of it, whether it drips or floods`() throws {
        for pauseMilliseconds in [5, 0] as [Int32] {
            let server = try LocalSocket(path: directory("socket"), mode: 0o600)
            let thread = try NamedThread("answers") {
                guard becomesReady(server.descriptor.raw), let client = try? server.accept()?.socket else { return }
                do {
                    while true {
                        _ = try client.write([1].span)
                        _ = poll(nil, 0, pauseMilliseconds)
                    }
                } catch {}
            }
            let received = Result {
                try LocalExchange.ask(
                    "", at: directory("socket"), timeout: patience, silence: patience, total: .milliseconds(50),
                    maxBytes: Int.max
                ) { _ in }
            }
            thread.join()
            #expect(throws: SystemError(call: "recv", code: ETIMEDOUT)) { try received.get() }
        }
    }

    @Test func `an answer over the bound is an error`() throws {
        let server = try LocalSocket(path: directory("socket"), mode: 0o600)
        let thread = try NamedThread("answers") {
            guard becomesReady(server.descriptor.raw), let client = try? server.accept()?.socket,
                becomesReady(client.descriptor.raw)
            else { return }
            _ = try? client.write([1, 2, 3, 4].span)
        }
        let received = Result { try LocalExchange.ask("", at: directory("socket"), timeout: patience, maxBytes: 3) }
        thread.join()
        #expect(throws: SystemError(call: "recv", code: EMSGSIZE)) { try received.get() }
    }

    @Test func `connect reports a path without a server`() {
        #expect(throws: SystemError(call: "connect", code: ENOENT)) {
            try LocalExchange.ask("stats", at: directory("none"), timeout: patience, maxBytes: 10)
        }
    }
}
