// The latest answer of each source is remembered within bounds, and distinguished from a failure.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct SourceHistoryTests {
    private let now = Instant.testStart
    private let alpha = Source.provider(ProviderID(0))
    private var history = SourceHistory()

    private func question(_ number: Int) throws -> Question { Question(try #require(Name("n\(number).example")), .a) }

    private func answer(_ last: UInt32, to question: Question) -> Answer {
        Answer(records: [ResourceRecord(owner: question.name, address: .v4(0xCB00_7100 + last), ttlSeconds: 60)])
    }

    @Test("of each source there is the last word; a failure stays until it speaks again")
    mutating func last() throws {
        let question = try question(1)
        let (first, second) = (answer(1, to: question), answer(2, to: question))
        history.answered(question, first, usable: first, by: alpha, took: nil, now: now)
        history.answered(question, first, usable: first, by: .system, took: .milliseconds(3), now: now)
        history.failed(question, .fetch(.timeout), by: alpha, now: now)
        #expect(history.answers(to: question).map(\.source) == [alpha, .system])
        #expect(history.failures(on: question).map(\.cause) == [.fetch(.timeout)])
        history.answered(question, second, usable: second, by: alpha, took: nil, now: now)
        #expect(history.answers(to: question).map(\.addresses) == [first.addresses, second.addresses])
        #expect(history.failures(on: question).isEmpty)
    }

    @Test("what was taken out is told, also when nothing is left; what is kept is marked")
    mutating func filtered() throws {
        let question = try question(1)
        let all = Answer(records: answer(1, to: question).records + answer(2, to: question).records)
        history.answered(question, all, usable: answer(1, to: question), by: alpha, took: nil, now: now)
        history.answered(question, all, usable: nil, by: .system, took: nil, now: now)
        #expect(history.answers(to: question).map(\.filtered) == [answer(2, to: question).addresses, all.addresses])
        history.kept(question, from: alpha, now: now)
        history.kept(try self.question(2), from: alpha, now: now)
        #expect(history.answers(to: question).map { $0.keptAt == now } == [true, false])
    }

    @Test("one question too many takes the place of the oldest, one source too many that of the oldest word")
    mutating func bounds() throws {
        for number in 0...Bounds.maxHistoryQuestions {
            let question = try question(number)
            let answer = answer(1, to: question)
            history.answered(question, answer, usable: answer, by: alpha, took: nil, now: now)
        }
        let (gone, stays) = (try question(0), try question(1))
        #expect(history.answers(to: gone).isEmpty && history.answers(to: stays).count == 1)
        let last = try question(Bounds.maxHistoryQuestions)
        for provider in 1...Bounds.maxSourcesPerName {
            let (source, answer) = (Source.provider(ProviderID(provider)), answer(1, to: last))
            history.answered(last, answer, usable: answer, by: source, took: nil, now: now)
            history.failed(last, .fetch(.reset), by: .provider(ProviderID(100 + provider)), now: now)
        }
        #expect(
            history.answers(to: last).count == Bounds.maxSourcesPerName && history.answers(to: last)[0].source != alpha)
        history.failed(last, .fetch(.reset), by: alpha, now: now)
        #expect(history.failures(on: last).count == Bounds.maxSourcesPerName)
    }
}
