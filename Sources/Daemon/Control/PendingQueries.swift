// `query` commands: each question goes to the cache and the resolver like a client's, past the cache, or to one
// provider, whose answer is shown and not cached.

import Control
import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Upstreams

final class PendingQueries: TimedPart {
    let timer = PartTimer()
    private let resolving: ResolvingLoop
    private var running: [Int: Running] = [:] { didSet { timer.changed() } }
    private var nextNumber = 0

    private struct Running {
        let terms: QueryTerms
        let stream: ControlStream
        let startedAt: Instant
        let userID: UInt32?
        var cancel: (Instant) -> Void = { _ in }
    }

    /// Bound on running queries; operators and their scripts send them.
    static let maxRunning = 16
    /// Limit per unprivileged user, so that others find room.
    static let maxRunningOfUser = 4
    /// Limit of all unprivileged users together, so that an operator always finds room.
    static let maxRunningOfUsers = 12
    /// Time limit of a query. The resolver and a provider's request end earlier; this ends queries that were lost.
    static let patience: Duration = .seconds(5)

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
    }

    var nextDeadline: Instant? { running.values.map { $0.startedAt + PendingQueries.patience }.min() }

    func timePassed(now: Instant) {
        let late = running.filter { $0.value.startedAt + PendingQueries.patience <= now }
        for (number, query) in late.sorted(by: { $0.key < $1.key }) {
            query.cancel(now)
            refuse("no answer in \(PendingQueries.patience.wholeSeconds) s", number)
        }
    }

    /// - Parameter userID: the user, if unprivileged.
    func begin(
        _ terms: QueryTerms, wantsJSON: Bool, by userID: UInt32? = nil, now: Instant
    ) throws(Refusal) -> ControlStream {
        guard running.count < PendingQueries.maxRunning else {
            throw Refusal("\(PendingQueries.maxRunning) queries are in progress; wait for one to end")
        }
        if let userID, running.values.count(where: { $0.userID == userID }) >= PendingQueries.maxRunningOfUser {
            throw Refusal(
                "user \(userID) has \(PendingQueries.maxRunningOfUser) queries in progress; wait for one to end")
        }
        if userID != nil, running.values.count(where: { $0.userID != nil }) >= PendingQueries.maxRunningOfUsers {
            throw Refusal(
                "unprivileged users have \(PendingQueries.maxRunningOfUsers) queries in progress; wait for one to end")
        }
        let provider = try terms.provider.map(resolving.upstreams.providers.provider(named:))
        let (stream, number) = (ControlStream(wantsJSON: wantsJSON), nextNumber)
        nextNumber += 1
        running[number] = Running(terms: terms, stream: stream, startedAt: now, userID: userID)
        stream.onGone = { [weak self] in self?.running.removeValue(forKey: number)?.cancel(Clock.now()) }
        if let provider { ask(provider, number, now: now) } else { ask(number, now: now) }
        return stream
    }

    // MARK: as a client

    private func ask(_ number: Int, now: Instant) {
        guard let terms = running[number]?.terms else { return }
        let question = Question(terms.name, terms.type)
        let waiter = resolving.ask(question, skipsCache: terms.skipsCache, now: now) { [weak self] reply in
            self?.replied(reply, number)
        }
        guard let waiter else { return }
        running[number]?.cancel = { [weak resolving] _ in resolving?.ownQuestions.forget(waiter) }
    }

    private func replied(_ reply: OwnReply, _ number: Int) {
        switch reply {
        case .cached(let answer): say(number, answer.responseCode, answer.records, from: "cache", answer.remark)
        case .local(let code, let records, let remark): say(number, code, records, from: "local", remark)
        case .unreadable(let error): refuse("the reply can't be shown: \(error)", number)
        case .answer(let answer, let source):
            say(number, answer.responseCode, answer.records, from: resolving.upstreams.name(of: source), answer.remark)
        case .expired(let expired, let cause):
            guard let terms = running[number]?.terms else { return }
            let records = try? expired.answer.records(of: Question(terms.name, terms.type))
            say(number, expired.answer.responseCode, records ?? [], from: "cache", expired.extendedError, cause)
        case .failure(let reason, let code): say(number, code, [], from: "local", reason)
        }
    }

    // MARK: one provider

    private func ask(_ provider: Provider, _ number: Int, now: Instant) {
        guard let terms = running[number]?.terms else { return }
        let question = Question(terms.name, terms.type)
        guard provider.dialect.supports(question) else {
            return refuse("\(provider.name) does not support \(question)", number)
        }
        guard let endpoint = provider.endpoints.first else { return refuse(provider.unresolved, number) }
        do throws(DialectError) {
            let request = try provider.dialect.request(
                for: [question], in: resolving.upstreams.providers.context(of: provider, for: [question]))
            let fetches = resolving.upstreams.providers
            let id = fetches.carry(
                request, to: endpoint, timeout: provider.timeout, now: now
            ) { [weak self] result in
                self?.replied(result, from: provider, to: question, number)
            }
            running[number]?.cancel = { [weak fetches] now in fetches?.cancel(id, now: now) }
        } catch {
            refuse("\(provider.name): \(error.description)", number)
        }
    }

    private func replied(
        _ result: Result<TransferReply, TransferFailure>, from provider: Provider, to question: Question, _ number: Int
    ) {
        switch result {
        case .failure(let failure): refuse("\(provider.name): \(failure.description)", number)
        case .success(let transfer):
            switch provider.dialect.answers(from: HTTPReply(transfer), to: [question]).first {
            case .success(let answer):
                say(number, answer.responseCode, answer.records, from: provider.name, answer.remark)
            case .failure(let error): refuse("\(provider.name): \(error.description)", number)
            case nil: refuse("\(provider.name): no answer", number)
            }
        }
    }

    // MARK: output

    private func say(
        _ number: Int, _ code: ResponseCode, _ records: [ResourceRecord], from source: String,
        _ remark: ExtendedError?, _ cause: StaleCause? = nil
    ) {
        guard let query = running.removeValue(forKey: number) else { return }
        var report = QueryReport(
            name: query.terms.name.description, type: query.terms.type.description, rcode: code.description,
            source: source, milliseconds: query.startedAt.duration(to: Clock.now()).wholeMilliseconds)
        report.records = records.map { CacheEntryReport.Record($0, ageSeconds: 0) }
        report.staleCause = cause?.rawValue
        report.extendedError = remark.map { QueryReport.ExtendedErrorReport(code: Int($0.code), text: $0.text) }
        if code != .noError, code != .noSuchName {
            report.error = "\(report.name) \(report.type) has no answer: \(code)"
        }
        query.stream.send(report)
        query.stream.finish()
    }

    private func refuse(_ reason: String, _ number: Int) { running.removeValue(forKey: number)?.stream.refuse(reason) }
}
