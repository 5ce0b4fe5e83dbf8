// The latest answer of each source is remembered within bounds, and distinguished from a failure.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct SourceAnswerTests {
    private let now = Instant.testStart
    private let alpha = Source.provider(ProviderID(0))
    private var verification = Verification(seed: 1)

    private func question(_ number: Int) throws -> Question { Question(try #require(Name("n\(number).example")), .a) }

    private func answer(_ last: UInt32, to question: Question) -> Answer {
        Answer(records: [ResourceRecord(owner: question.name, address: .v4(0xCB00_7100 + last), ttlSeconds: 60)])
    }

    private mutating func answered(
        _ question: Question, _ answer: Answer, by source: Source, took: Duration? = nil
    ) {
        verification.answered(question, answer, usable: answer, by: source, took: took, now: now)
    }

    @Test("the last answer of each source is kept; a failure stays until the source answers again")
    mutating func last() throws {
        let question = try question(1)
        let (first, second) = (answer(1, to: question), answer(2, to: question))
        answered(question, first, by: alpha)
        answered(question, first, by: .system, took: .milliseconds(3))
        verification.failed(question, .fetch(.timeout), by: alpha, now: now)
        #expect(verification.answers(to: question).map(\.source) == [alpha, .system])
        #expect(verification.failures(on: question).map(\.cause) == [.fetch(.timeout)])
        answered(question, second, by: alpha)
        #expect(verification.answers(to: question).map(\.addresses) == [first.addresses, second.addresses])
        #expect(verification.failures(on: question).isEmpty)
    }

    @Test("filtered addresses are listed apart, also when no other is left; the stored answer is marked")
    mutating func filtered() throws {
        let question = try question(1)
        let all = Answer(records: answer(1, to: question).records + answer(2, to: question).records)
        let rest = answer(1, to: question)
        verification.answered(question, all, usable: rest, by: alpha, took: nil, now: now)
        verification.answered(question, all, usable: nil, by: .system, took: nil, now: now)
        let filtered = [answer(2, to: question).addresses, all.addresses]
        #expect(verification.answers(to: question).map(\.filtered) == filtered)
        #expect(verification.answers(to: question).map(\.addresses) == [rest.addresses, []])
        #expect(verification.known[question]?.statements.map(\.source) == [alpha], "nothing is left to judge")
        let terms = VerificationStand.terms()
        for question in [question, try self.question(2)] {
            verification.kept(question, rest, from: alpha, terms, isInUse: false, isDoubted: false, now: now)
        }
        #expect(verification.answers(to: question).map { $0.keptAt == now } == [true, false])
    }

    @Test("questions of other types have answers, too, without any part in the verification")
    mutating func otherTypes() throws {
        let question = Question(try question(1).name, .mx)
        let none = Answer(negative: .noData)
        answered(question, none, by: .system)
        verification.kept(
            question, none, from: .system, VerificationStand.terms(), isInUse: false, isDoubted: false, now: now)
        verification.substituteGiven(question, .failing, now: now)
        #expect(verification.answers(to: question).map(\.keptAt) == [now])
        #expect(verification.lastSubstitute(on: question) == LastSubstitute(reason: .failing, at: now))
        #expect(verification.known[question]?.statements.isEmpty == true)
        #expect(verification.names.isEmpty)
        #expect(try verification.answers(to: self.question(1)).isEmpty)
    }

    @Test("a name more than the bound takes the place of another one, a source too many that of the oldest answer")
    mutating func bounds() throws {
        for number in 0...Bounds.maxVerifiedNames {
            let question = try question(number)
            answered(question, answer(1, to: question), by: alpha)
        }
        #expect(verification.known.names.count == Bounds.maxVerifiedNames)
        let last = try question(Bounds.maxVerifiedNames)
        #expect(verification.answers(to: last).count == 1)
        for provider in 1...Bounds.maxAnswersPerName {
            answered(last, answer(1, to: last), by: .provider(ProviderID(provider)))
            verification.failed(last, .fetch(.reset), by: .provider(ProviderID(100 + provider)), now: now)
        }
        #expect(verification.answers(to: last).count == Bounds.maxAnswersPerName)
        #expect(verification.answers(to: last)[0].source != alpha)
        verification.failed(last, .fetch(.reset), by: alpha, now: now)
        #expect(verification.failures(on: last).count == Bounds.maxAnswersPerName)
    }

    @Test("of a source with too many answers, those without verdicts stay")
    mutating func unjudgedStay() throws {
        let question = try question(1)
        let terms = VerificationStand.terms(rule: true)
        answered(question, answer(66, to: question), by: alpha)
        verification.kept(
            question, answer(66, to: question), from: alpha, terms, isInUse: false, isDoubted: false, now: now)
        for provider in 1...Bounds.maxAnswersPerName {
            let nothing = Answer(negative: .noData)
            verification.answered(
                Question(question.name, .mx), nothing, usable: nothing, by: .provider(ProviderID(provider)), took: nil,
                now: now)
        }
        #expect(verification.answers(to: question).map(\.source) == [alpha])
        #expect(verification.known[question]?.answers.count == Bounds.maxAnswersPerName)
    }

    @Test("a name whose verdict is awaited outlives names that were asked once")
    mutating func floods() throws {
        let name = try question(0)
        for _ in 0..<2 { verification.asked(name, now: now) }
        let terms = VerificationStand.terms(rule: true)
        for number in 0..<2 * Bounds.maxVerifiedNames {
            let question = try question(number)
            let answer = answer(1, to: question)
            answered(question, answer, by: alpha)
            verification.kept(question, answer, from: alpha, terms, isInUse: false, isDoubted: false, now: now)
        }
        #expect(verification.known.names.count == Bounds.maxVerifiedNames)
        #expect(verification.answers(to: name).map(\.source) == [alpha])
    }
}
