// Values from /proc, small files, and randomness.

import DNSWire
import Glibc
import Testing

@testable import LinuxIO

struct PortHolderTests {
    @Test func `the table of sockets is read, and lines that are none are left out`() throws {
        let text = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:0035 00000000:0000 0A 00000000:00000000 00:00000000 00000000   101        0 23456 1 ffff 100
               1: 0100007F:D2F0 0100007F:0035 01 00000000:00000000 00:00000000 00000000     0        0 0
              12: 00000000000000000000000001000000:14EB 00000000000000000000000000000000:0000 07 0:0 0:0 0 0 0 77 2 f 9
            bad: 0100007F:00355 00000000:0000 0A 0:0 0:0 0 0 0 1
            bad: 0100007:0035 00000000:0000 0A 0:0 0:0 0 0 0 1
            bad: 0100007F:0035 00000000:0000 XX 0:0 0:0 0 0 0 1
            bad: 0100007F:0035 00000000:0000 0A
            """
        let loopback = try #require(SocketAddress("127.0.0.1:53"))
        let other = try #require(SocketAddress("127.0.0.1:54000"))
        let loopback6 = try #require(SocketAddress("[::1]:5355"))
        #expect(
            SocketTable.parse(text) == [
                SocketTable.Entry(address: loopback, state: 0x0A, inode: 23456),
                SocketTable.Entry(address: other, state: 1, inode: 0),
                SocketTable.Entry(address: loopback6, state: 7, inode: 77, lost: 9),
            ])
    }

    @Test(
        "a socket conflicts by port and by address or wildcard",
        arguments: [
            ("127.0.0.1:53", "127.0.0.1:53", true), ("127.0.0.1:53", "127.0.0.1:54", false),
            ("127.0.0.2:53", "127.0.0.1:53", false), ("0.0.0.0:53", "127.0.0.1:53", true),
            ("127.0.0.2:53", "0.0.0.0:53", true), ("[::]:53", "127.0.0.1:53", true),
            ("[::1]:53", "127.0.0.1:53", false), ("127.0.0.1:53", "[::]:53", false), ("[::1]:53", "[::]:53", true),
        ])
    func conflicts(held: String, wanted: String, expected: Bool) throws {
        let entry = SocketTable.Entry(address: try #require(SocketAddress(held)), state: 7, inode: 1)
        let wanted = try #require(SocketAddress(wanted))
        #expect(PortHolder.conflicts(entry, with: wanted, .udp) == expected)
        #expect(!PortHolder.conflicts(entry, with: wanted, .tcp), "it does not listen")
    }

    @Test func `a port that this process holds is found`() throws {
        let datagrams = try DatagramSocket(serving: #require(SocketAddress("127.0.0.1:0")))
        let listener = try Listener(on: #require(SocketAddress("[::1]:0")))
        let comm = try TextFile.read("/proc/self/comm", maxBytes: 100).dropLast()
        let ourselves = "\(String(decoding: comm, as: UTF8.self)) (pid \(getpid()))"
        #expect(try PortHolder.describe(datagrams.localAddress(), .udp) == ourselves)
        #expect(try PortHolder.describe(listener.localAddress(), .tcp) == ourselves)
    }

    @Test func `datagrams that find a buffer full are counted for their socket alone`() throws {
        let full = try DatagramSocket(serving: #require(SocketAddress("127.0.0.1:0")))
        let idle = try DatagramSocket(serving: #require(SocketAddress("127.0.0.1:0")))
        let sender = try DatagramSocket(connectedTo: full.localAddress())
        let bytes = [UInt8](repeating: 0, count: 60_000)
        var sent = 0
        while try DatagramLoss.count(at: [full.localAddress()]) == 0, sent < 10_000 {
            _ = try sender.send(bytes.span)
            sent += 1
        }
        #expect(sent < 10_000)
        #expect(try DatagramLoss.count(at: [idle.localAddress()]) == 0)
    }

    @Test func `no process holds port 0`() throws {
        #expect(try PortHolder.describe(#require(SocketAddress("127.0.0.1:0")), .tcp) == nil)
    }
}

struct ProcessStatusTests {
    @Test func `sizes are read in bytes`() {
        let text = "Name:\ttest\nVmRSS:\t    5120 kB\nRssAnon:\t     640 kB\nThreads:\t3\nCpus_allowed_list:\t0-1\n"
        let status = ProcessStatus(status: text, openDescriptors: 9)
        #expect(status.residentBytes == 5120 * 1024)
        #expect(status.anonymousBytes == 640 * 1024)
        #expect(status.threads == 3)
        #expect(status.openDescriptors == 9)
    }

    @Test func `this process has memory, threads and descriptors`() {
        let status = ProcessStatus.current()
        #expect(status.residentBytes > status.anonymousBytes)
        #expect(status.anonymousBytes > 100_000)
        #expect(status.threads >= 1)
        #expect(status.openDescriptors >= 3)
    }

    @Test func `what is missing counts as nothing`() {
        #expect(ProcessStatus(status: "VmRSS\n\nVmRSS: many kB", openDescriptors: 0).residentBytes == 0)
    }
}

struct TextFileTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [0, 1, 16 * 1024, 16 * 1024 + 1, 100_000])
    func `a file is read up to the bound and not beyond`(count: Int) throws {
        let text = String(repeating: "x", count: count)
        directory.write(text, to: "file")
        #expect(try TextFile.read(directory("file"), maxBytes: count) == Array(text.utf8))
        #expect(try TextFile.read(directory("file"), maxBytes: count + 1) == Array(text.utf8))
        guard count > 0 else { return }
        #expect(throws: SystemError(call: "read", code: EFBIG)) {
            try TextFile.read(directory("file"), maxBytes: count - 1)
        }
    }

    @Test func `what is no readable file is an error, and a FIFO does not hold us`() throws {
        #expect(throws: SystemError(call: "open", code: ENOENT)) {
            try TextFile.read(directory("missing"), maxBytes: 10)
        }
        #expect(throws: SystemError(call: "read", code: EISDIR)) { try TextFile.read(directory.path, maxBytes: 10) }
        #expect(throws: SystemError(call: "open", code: ENOENT)) { try TextFile.read("/etc/hosts\0", maxBytes: 10) }
        try #require(unsafe mkfifo(directory("fifo"), 0o600) == 0)
        #expect(try TextFile.read(directory("fifo"), maxBytes: 10) == [])
    }
}

struct FileRightsTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [
        (0o600, false, false), (0o400, false, false), (0o640, true, false), (0o620, false, false),
        (0o604, false, true), (0o602, false, false), (0o644, true, true), (0o4755, true, true),
    ])
    func `the readers of a file come with its content`(mode: UInt32, group: Bool, others: Bool) throws {
        directory.write("x", to: "file")
        try #require(unsafe chmod(directory("file"), mode) == 0)
        let (content, rights) = try TextFile.readWithRights(directory("file"), maxBytes: 1)
        #expect(content == Array("x".utf8))
        #expect(rights.isReadableByGroup == group && rights.isReadableByOthers == others)
        #expect(rights.userID == Machine.user.userID && rights.groupID == Machine.user.groupID)
    }

    @Test func `a symbolic link has the access of the file behind it`() throws {
        directory.write("x", to: "file")
        directory.link("link", to: directory("file"))
        try #require(unsafe chmod(directory("file"), 0o600) == 0)
        #expect(try !TextFile.readWithRights(directory("link"), maxBytes: 1).rights.isReadableByOthers)
    }
}

struct EnvironmentTests {
    @Test func `a variable has its value, and one that is not set has none`() {
        #expect(Environment.value(of: "PATH")?.isEmpty == false)
        #expect(Environment.value(of: "HTTPDNSD_NO_SUCH_VARIABLE") == nil)
    }
}

struct SystemEntropyTests {
    @Test func `numbers do not repeat, not even through a second reference`() {
        let entropy = SystemEntropy()
        let shared = entropy
        let numbers = (0..<500).flatMap { _ in [entropy.next(), shared.next()] }
        #expect(Set(numbers).count == numbers.count)
    }
}
