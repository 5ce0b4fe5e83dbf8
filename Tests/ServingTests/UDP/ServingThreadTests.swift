// Orders to a serving thread, and the events that it records.

import DNSWire
import LinuxIO
import Telemetry
import TestSupport
import Testing

@testable import Serving

struct ServingThreadTests {
    @Test("a thread answers each liveness check once, and stops when it is told to")
    func orders() throws {
        let orders = try ServingOrders()
        #expect(orders.isAnswered)
        orders.checkLiveness()
        orders.checkLiveness()
        #expect(!orders.isAnswered)
        let goesOn = orders.obey()
        #expect(goesOn && orders.isAnswered)
        orders.checkLiveness()
        orders.stop()
        let goesOnAfterStop = orders.obey()
        #expect(!goesOnAfterStop)
    }

    @Test("a refused query is recorded with its reason")
    func refusals() throws {
        let records = FlightRecords(servingThreads: 0)
        let packet = QueryPacket(try #require(Name("www.example.com")), .a).bytes
        let outcomes: [(FastPath.Outcome, UInt16?)] = [
            (.refused(.refused), ExtendedError.prohibited.code), (.local, 17), (.refused(.refused), nil),
        ]
        for (outcome, remark) in outcomes {
            records.ofMainThread.record(
                ServedQuery(outcome, remark, client: .v4(1)), atNanoseconds: 1, microseconds: 0, in: packet.span)
        }
        #expect(records.latest(3).map(\.kind) == [.refused, .answered, .refused])
        #expect(records.latest(3).map(\.extendedError) == [18, 17, nil])
    }
}
