// Entries for the journal, received by another socket.

import DNSWire
import Glibc
import Testing

@testable import LinuxIO

@Suite("Socket of the journal")
struct JournalSocketTests {
    @Test("an entry is a datagram; without a journal, or with too large an entry, nothing is sent")
    func entries() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/socket"
        let sender = try JournalSocket(path: path)
        #expect(!sender.send([1, 2, 3]))
        let journal = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_DGRAM)
        try LocalAddress(path).bind(journal)
        #expect(sender.send([1, 2, 3]))
        #expect(sender.send(Array("MESSAGE=x\n".utf8)))
        #expect(!sender.send([UInt8](repeating: 0x78, count: 64 << 20)))
        #expect(received(journal) == [1, 2, 3])
        #expect(received(journal) == Array("MESSAGE=x\n".utf8))
        #expect(received(journal) == nil)
    }

    @Test("a journal without room is waited for, and its entries keep their order")
    func room() throws {
        let directory = TemporaryDirectory()
        let journal = try FileDescriptor(socketOf: AF_UNIX, type: SOCK_DGRAM)
        try LocalAddress("\(directory.path)/socket").bind(journal)
        let sender = try JournalSocket(path: "\(directory.path)/socket")
        let count = 3000
        let thread = try NamedThread("sender") {
            for number in 0..<count { _ = sender.send([UInt8(number & 0xFF), UInt8(number >> 8)]) }
            // The receiver must not wait for an entry that was not sent.
            _ = sender.send([0xFF, 0xFF])
        }
        var numbers: [Int] = []
        var wait = PollSet([journal.raw])
        while numbers.last != 0xFFFF {
            try wait.wait()
            while let entry = received(journal) { numbers.append(Int(entry[0]) | Int(entry[1]) << 8) }
        }
        #expect(numbers.dropLast() == Array(0..<count)[...])
        let hasEnded = thread.join(within: .seconds(10))
        #expect(hasEnded)
    }

    /// The next datagram; nil if there is none.
    private func received(_ journal: borrowing FileDescriptor) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 100)
        let raw = journal.raw
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe recv(raw, $0.baseAddress, $0.count, 0) }
        return count < 0 ? nil : Array(bytes.prefix(count))
    }
}
