// The files that name nameservers: reading and watching.

import DNSWire
import LinuxIO
import Resolver
import TestSupport
import Testing

@testable import Daemon

@Suite("Local files")
struct LocalFilesTests {
    private let folder = TemporaryFolder()

    private func write(_ text: String, to name: String) { folder.write(Array(text.utf8), to: folder(name)) }

    @Test("a file that can't be read is complained of once until it can be, and what stood there last counts")
    func unreadable() throws {
        let path = folder("resolv.conf")
        let files = try LocalFiles(resolvConf: path, loop: try EventLoop(), outbox: Outbox())
        var complaints: [String] = []
        func read() -> [UInt8]? { files.readNameserverFiles { path, _ in complaints.append(path) }[path] }
        #expect(read() == [] && complaints == [], "a missing file is an empty one")
        for times in 1...2 {
            write("nameserver 192.0.2.1\n", to: "resolv.conf")
            #expect(read() == Array("nameserver 192.0.2.1\n".utf8))
            write(String(repeating: "#", count: 100_000), to: "resolv.conf")
            for _ in 0..<3 { #expect(read() == Array("nameserver 192.0.2.1\n".utf8)) }
            #expect(complaints.count == times && complaints.last == path)
        }
    }

    @Test("every file that may name nameservers is read, and a change is noticed once")
    func changes() throws {
        let path = folder("resolv.conf")
        let (loop, outbox) = (try EventLoop(), Outbox())
        let files = try LocalFiles(resolvConf: path, loop: loop, outbox: outbox)
        #expect(Set(files.readNameserverFiles { _, _ in }.keys) == Set(NameserverSources.paths + [path]))
        write("nameserver 192.0.2.1\n", to: "resolv.conf")
        try loop.turn(until: Clock.now() + .seconds(20))
        let isNoticed = outbox.take(.nameserverFiles)
        #expect(isNoticed && outbox.take() == nil)
    }
}
