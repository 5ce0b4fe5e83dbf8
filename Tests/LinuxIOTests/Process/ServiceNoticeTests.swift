// The notices to a service manager.

import DNSWire
import Glibc
import TestSupport
import Testing

@testable import LinuxIO

@Suite("Notices to the service manager")
struct ServiceNoticeTests {
    @Test("each piece of news is one datagram in the words of sd_notify", arguments: [false, true])
    func words(isAbstract: Bool) throws {
        let folder = TemporaryDirectory()
        let path = isAbstract ? "@httpdnsd-test-\(getpid())-\(UInt64.random(in: 0 ... .max))" : "\(folder.path)/notify"
        let manager = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_DGRAM)
        try LocalAddress(notice: path).bind(manager)
        let notice = try #require(ServiceNotice { $0 == "NOTIFY_SOCKET" ? path : nil })
        for news in [ServiceNotice.News.ready("two\nlines"), .stopping, .alive] { #expect(notice.tell(news)) }
        #expect(try heard(manager) == "READY=1\nSTATUS=two\n")
        #expect(try heard(manager) == "STOPPING=1\n")
        #expect(try heard(manager) == "WATCHDOG=1\n")
        #expect(try heard(manager) == nil)
        notice.tell(.reloading)
        #expect(try #require(try heard(manager)).hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
    }

    @Test func `descriptors go into the manager's store in as many messages as they need`() throws {
        let folder = TemporaryDirectory()
        let path = "\(folder.path)/notify"
        let manager = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_DGRAM)
        try LocalAddress(notice: path).bind(manager)
        let notice = try #require(ServiceNotice { $0 == "NOTIFY_SOCKET" ? path : nil })
        let kept = try FileDescriptor(socketOf: AF_INET, type: SOCK_DGRAM)
        let words = "FDSTORE=1\nFDNAME=dns-bound\nFDPOLL=0\n"
        #expect(notice.tell(.keep([kept.raw], .bound)))
        #expect(try heard(manager) == words && heard(manager) == nil)
        #expect(notice.tell(.keep([Int32](repeating: kept.raw, count: 300), .bound)))
        #expect(try heard(manager) == words && heard(manager) == words && heard(manager) == nil)
        #expect(notice.tell(.keep([], .connection)))
        #expect(try heard(manager) == nil)
        #expect(notice.tell(.forget(.connection)))
        #expect(try heard(manager) == "FDSTOREREMOVE=1\nFDNAME=dns-connection\n")
    }

    @Test("without a manager there are no notices")
    func nobody() {
        #expect(ServiceNotice { _ in nil } == nil)
        #expect(ServiceNotice { $0 == "NOTIFY_SOCKET" ? "" : nil } == nil)
        #expect(ServiceNotice { $0 == "NOTIFY_SOCKET" ? String(repeating: "x", count: 200) : nil } == nil)
    }

    @Test("what a manager has no room for is not told, and can be told again")
    func full() throws {
        let folder = TemporaryDirectory()
        let path = "\(folder.path)/notify"
        let manager = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_DGRAM)
        try LocalAddress(notice: path).bind(manager)
        let notice = try #require(ServiceNotice { $0 == "NOTIFY_SOCKET" ? path : nil })
        // The kernel's limit is net.unix.max_dgram_qlen, 10 by default.
        var told = 0
        while told < 100_000, notice.tell(.alive) { told += 1 }
        #expect(told > 0 && !notice.tell(.ready("")))
        for _ in 0..<told { #expect(try heard(manager) == "WATCHDOG=1\n") }
        #expect(try heard(manager) == nil)
        #expect(notice.tell(.ready("")))
        #expect(try heard(manager) == "READY=1\nSTATUS=\n")
    }

    @Test("a manager that is gone is no error")
    func gone() throws {
        let folder = TemporaryDirectory()
        let notice = try #require(ServiceNotice { $0 == "NOTIFY_SOCKET" ? "\(folder.path)/nobody" : nil })
        #expect(notice.tell(.ready("")))
    }

    @Test(
        "the watchdog is for the process that it names",
        arguments: [
            ("30000000", nil, Duration.seconds(30)), ("30000000", "1", nil), ("0", nil, nil), ("soon", nil, nil),
            (nil, nil, nil),
        ] as [(String?, String?, Duration?)])
    func watchdog(_ microseconds: String?, _ process: String?, _ expected: Duration?) throws {
        let variables = ["NOTIFY_SOCKET": "/run/none", "WATCHDOG_USEC": microseconds, "WATCHDOG_PID": process]
        let notice = try #require(ServiceNotice { variables[$0] ?? nil })
        #expect(notice.watchdogInterval == expected)
    }

    private func heard(_ manager: borrowing FileDescriptor) throws -> String? {
        let raw = manager.raw
        let bytes = try unsafe SystemCall.bytes("recv", maxBytes: 1024) { unsafe recv(raw, $0, $1, 0) }
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
