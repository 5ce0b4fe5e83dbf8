// The one case of descriptor numbers that no server can bring about at will.

import Testing

@testable import HTTPClient

@Suite struct SocketLedgerTests {
    @Test("a number that comes back for another socket within a call is forgotten first, then watched anew")
    func replacedSocket() {
        let ledger = SocketLedger()
        var told: [SocketInterest] = []
        // Never a real descriptor: nothing is closed by this test.
        let number = Int32.max
        ledger.record(opened: number)
        ledger.record(number, wants: .read)
        ledger.deliver { told.append($1) }
        ledger.record(opened: number)
        ledger.record(number, wants: .read)
        ledger.deliver { told.append($1) }
        #expect(told == [.read, .none, .read] && ledger.isWatching(number))
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
