// The only case of reused descriptor numbers that no server can cause reliably.

import Glibc
import Testing

@testable import HTTPClient

@Suite struct SocketLedgerTests {
    @Test("a number that comes back for another socket within a call is forgotten first, then watched anew")
    func replacedSocket() {
        let ledger = SocketLedger()
        var told: [SocketInterest] = []
        // The number is never a real descriptor, so this test closes none.
        let number = Int32.max
        ledger.record(opened: number)
        ledger.record(number, wants: .read)
        ledger.deliver { told.append($1) }
        ledger.record(opened: number)
        ledger.record(number, wants: .read)
        ledger.deliver { told.append($1) }
        #expect(told == [.read, .none, .read] && ledger.isWatching(number))
    }

    @Test("a socket that libcurl closed without telling is forgotten, also if its number is another socket's by then")
    func takenNumber() throws {
        let ledger = SocketLedger()
        let sockets = (0..<2).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        try #require(sockets.allSatisfy { $0 >= 0 })
        defer { close(sockets[0]) }
        ledger.record(opened: sockets[0])
        ledger.record(sockets[0], wants: .write)
        ledger.deliver { _, _ in }
        #expect(ledger.openSockets == 1)
        // Another thread opens a socket, which gets the same number.
        #expect(dup2(sockets[1], sockets[0]) == sockets[0] && close(sockets[1]) == 0)
        ledger.record(sockets[0], wants: .none)
        ledger.deliver { _, _ in }
        #expect(ledger.openSockets == 0)
    }

    @Test("what changes and changes back within a call is not told")
    func unchanged() {
        let ledger = SocketLedger()
        var told: [SocketInterest] = []
        ledger.record(.max, wants: .both)
        ledger.record(.max, wants: .none)
        ledger.deliver { told.append($1) }
        #expect(told.isEmpty && !ledger.isWatching(.max))
    }
}
