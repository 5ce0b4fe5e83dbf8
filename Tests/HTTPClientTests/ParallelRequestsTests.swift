// The number of parallel requests to a server that keeps few connections, or closes those of one name.

import DNSWire
import TestSupport
import Testing

@testable import HTTPClient

@Suite("Requests in parallel")
struct ParallelRequestsTests {
    private func overHTTP1() -> ParallelRequests {
        var requests = ParallelRequests(isOverTLS: false)
        requests.speaks(http1: true)
        return requests
    }

    @Test("of eight requests those run on that the server keeps connections for")
    func serverKeepsFew() {
        for kept in 2...7 {
            var requests = overHTTP1()
            // All of them are closed at the same time: each is still open here when the first is recorded.
            for number in kept..<8 { requests.closed(number, keeping: 7, now: .testStart) }
            #expect(requests.range.now == kept)
        }
    }

    @Test("a server that keeps one connection is asked one question after the other")
    func serverKeepsOne() {
        var requests = overHTTP1()
        for number in 0..<10 { requests.closed(number, keeping: 1, now: .testStart) }
        #expect(requests.range.now == 1)
    }

    @Test("one name whose connections are closed leaves two requests to others")
    func oneName() {
        var requests = overHTTP1()
        for _ in 0..<20 { requests.closed(7, keeping: 1, now: .testStart) }
        #expect(requests.range.now == 2)
    }
}
