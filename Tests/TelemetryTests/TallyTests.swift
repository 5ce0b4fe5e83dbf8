// Published counts are read whole: a reader never sees half a batch.

import DNSWire
import LinuxIO
import Synchronization
import Testing

@testable import Telemetry

@Suite("Tally")
struct TallyTests {
    @Test("what is published is what is read")
    func roundTrip() {
        let published = PublishedTally()
        var tally = Tally()
        for (number, count) in Count.allCases.enumerated() { tally[count] = UInt64(number) }
        published.publish(tally)
        let read = published.read()
        for (number, count) in Count.allCases.enumerated() { #expect(read[count] == UInt64(number)) }
    }

    @Test("tallies add up count by count")
    func sum() {
        var left = Tally()
        var right = Tally()
        left.addQueries(2, over: .udp)
        right.addQueries(3, over: .udp)
        right[.otherCode] = 1
        left += right
        #expect(left.queries(over: .udp) == 5 && left.queries(over: .tcp) == 0)
        #expect(left[.otherCode] == 1)
    }

    @Test("a reader sees whole publications while another thread publishes")
    func consistency() throws {
        let published = PublishedTally()
        let isDone = DoneFlag()
        let writer = try NamedThread("publisher") {
            var tally = Tally()
            for _ in 0..<50_000 {
                for count in Count.allCases { tally[count] += 1 }
                published.publish(tally)
            }
            isDone.flag.store(true, ordering: .releasing)
        }
        var reads = 0
        var torn = 0
        while !isDone.flag.load(ordering: .acquiring) {
            let tally = published.read()
            if Count.allCases.contains(where: { tally[$0] != tally[.cacheHits] }) { torn += 1 }
            reads += 1
        }
        writer.join()
        #expect(torn == 0, "\(reads) reads")
        #expect(published.read()[.unsentReplies] == 50_000)
    }

    private final class DoneFlag: Sendable {
        let flag = Atomic(false)
    }
}
