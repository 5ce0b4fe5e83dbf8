// The operators' view of the latest failures. Scenarios test the effect of remembered failures on lookups.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Latest failures")
struct LatestFailuresTests {
    private let start = Instant.testStart

    private func question(_ number: Int) throws -> Question {
        Question(try #require(Name("n\(number).example")), .a)
    }

    private func fail(_ number: Int, after seconds: Int, in memory: inout FailureMemory) throws {
        _ = memory.failed(
            try question(number), LookupFailure(.networkError), startedAt: start, recheck: nil,
            now: start + .seconds(seconds))
    }

    @Test("the latest comes first, each question once, with its failures in a row")
    func order() throws {
        var memory = FailureMemory()
        for (number, seconds) in [(1, 0), (2, 1), (1, 6)] { try fail(number, after: seconds, in: &memory) }
        let latest = memory.latestFailures
        #expect(latest.map(\.question) == [try question(1), try question(2)])
        #expect(latest.map(\.times) == [2, 1] && latest.map(\.isOver) == [false, false])
        #expect(latest.first?.failedAt == start + .seconds(6) && latest.first?.reason == .networkError)
    }

    @Test("a question that was answered since stays, and says so")
    func answered() throws {
        var memory = FailureMemory()
        try fail(1, after: 0, in: &memory)
        memory.answered(try question(1))
        #expect(memory.latestFailures.map(\.isOver) == [true])
        try fail(1, after: 60, in: &memory)
        #expect(memory.latestFailures.map(\.isOver) == [false] && memory.latestFailures.map(\.times) == [1])
    }

    @Test("a question that was only flushed or forgotten was not answered")
    func forgotten() throws {
        var memory = FailureMemory()
        try fail(1, after: 0, in: &memory)
        try fail(2, after: 1, in: &memory)
        memory.forget(.everything)
        _ = memory.removeAll()
        #expect(memory.latestFailures.map(\.isOver) == [false, false])
        memory.answered(try question(1))
        #expect(memory.latestFailures.map(\.isOver) == [false, true])
    }

    @Test("a refresh that failed is not shown: no client waited")
    func refresh() throws {
        var memory = FailureMemory()
        _ = memory.failed(
            try question(1), LookupFailure(.networkError), startedAt: start, isRefresh: true, recheck: nil, now: start)
        #expect(memory.latestFailures.isEmpty)
        try fail(1, after: 6, in: &memory)
        #expect(memory.latestFailures.map(\.times) == [2])
    }

    @Test("ten are kept")
    func bound() throws {
        var memory = FailureMemory()
        for number in 0..<25 { try fail(number, after: number, in: &memory) }
        #expect(memory.latestFailures.count == 10)
        #expect(try memory.latestFailures.last?.question == question(15))
    }
}
