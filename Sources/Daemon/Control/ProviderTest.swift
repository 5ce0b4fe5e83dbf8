// `providers test`: asks one provider a few questions apart from all lookups. Reports its answers, latency,
// certificate, names per request and whether idle connections last. The resolver uses none of the results.

import Control
import Crypto
import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Settings
import Upstreams

/// A test is owned by its steps: the loop and the request in flight hold it.
final class ProviderTest {
    private let fetches: ProviderFetches
    /// The provider as of the test's start; new settings do not change it.
    private let provider: Provider
    /// The provider's clock as the test's replies show it. Lookups do not use it.
    private var clock: ServerClock
    private let endpoint: HTTPEndpoint
    private let stream: ControlStream
    private var steps: [Step]
    private var requestID: TransferID?
    /// The timer of the tests that run.
    private let timer: PartTimer
    /// When the waiting step is due.
    private(set) var nextDeadline: Instant? { didSet { timer.changed() } }
    private(set) var isDone = false { didSet { timer.changed() } }
    private var hasFailed = false

    private struct Step {
        let name: String
        let questions: [Question]
        let dialect: any Dialect
        /// The client subnet in the request. The provider should take its first address as the client's. The step
        /// cannot fail.
        var clientSubnet: Prefix?
        var isOnOwnConnection = false
        /// The request is sent a second time, dated by the provider's clock.
        var isRepeated = false
        /// Pause before the step begins.
        var pause: Duration = .zero
    }

    /// Long-lived names, asked one after the other at the first address.
    private static let testNames = [
        "www.example.com", "example.com", "example.net", "example.org", "www.iana.org",
        "iana.org", "www.icann.org", "icann.org",
    ]
    /// Margin before the end of the idle time, at which the daemon would still use the connection.
    private static let idleMargin: Duration = .milliseconds(500)
    /// The client subnet in requests if the settings have none (RFC 5737).
    private static let anySubnet = Prefix("203.0.113.0/24")
    /// The longest pause that an operator is expected to wait for.
    private static let longestPause: Duration = .seconds(15)

    init(
        _ provider: Provider, at endpoint: HTTPEndpoint, _ fetches: ProviderFetches, _ timer: PartTimer,
        _ stream: ControlStream
    ) {
        self.provider = provider
        self.timer = timer
        clock = provider.clock
        self.endpoint = endpoint
        self.fetches = fetches
        self.stream = stream
        let names = ProviderTest.testNames.compactMap { Name($0) }
        let families = [RecordType.a, .aaaa].filter { provider.dialect.supports($0) }
        let question = Question(names[0], .a)
        let dialect = provider.dialect
        steps = [Step(name: "new connection", questions: [question], dialect: dialect, isOnOwnConnection: true)]
        steps += families.map { Step(name: "\($0)", questions: [Question(names[0], $0)], dialect: dialect) }
        if dialect.maxNames > 1 {
            let batch = names.prefix(dialect.maxNames).map { Question($0, .a) }
            steps.append(Step(name: "batch of \(batch.count)", questions: batch, dialect: dialect))
        }
        let subnet = provider.subnetSent(for: .all) ?? ProviderTest.anySubnet
        steps += dialect.clientForms.map { form in
            Step(name: form.name, questions: [question], dialect: form.dialect, clientSubnet: subnet)
        }
        let idle = min(provider.settings.idle - ProviderTest.idleMargin, ProviderTest.longestPause)
        steps.append(
            Step(
                name: "after \(idle.wholeMilliseconds) ms idle", questions: [question], dialect: dialect, pause: idle))
        stream.onGone = { [weak self] in self?.stop() }
    }

    func begin(now: Instant) {
        if !stream.wantsJSON {
            stream.send("\(provider.name) (\(provider.dialectName)) at \(endpoint.address)\n")
        }
        nextDeadline = now
    }

    func timePassed(now: Instant) {
        guard let due = nextDeadline, due <= now else { return }
        nextDeadline = nil
        guard let step = steps.first else { return finish() }
        let request: HTTPRequest
        let context = fetches.context(of: provider, for: step.questions, datedBy: clock)
        do throws(DialectError) {
            request = try step.dialect.request(
                for: step.questions, in: step.clientSubnet.map(context.withClientSubnet) ?? context)
        } catch {
            return stepDone(ProviderTestStep(step.name, failure: error.description), now: now)
        }
        requestID = fetches.carry(
            request, to: endpoint, timeout: provider.timeout, isOnOwnConnection: step.isOnOwnConnection,
            now: now
        ) { [weak self] result in
            self?.replied(result, to: step)
        }
    }

    private func replied(_ result: Result<TransferReply, TransferFailure>, to step: Step) {
        requestID = nil
        var report: ProviderTestStep
        switch result {
        case .failure(let failure): report = ProviderTestStep(step.name, failure: failure.description)
        case .success(let transfer):
            let reply = HTTPReply(transfer)
            var answers = step.dialect.answers(from: reply, to: step.questions)
            let former = clock
            clock.learn(from: reply, in: provider.dialect, wallMilliseconds: Clock.wallMilliseconds())
            let clockDiffers = clock.differs(from: former)
            if answers.first?.failure?.clockMayBeWrong == true, clockDiffers, !step.isRepeated {
                steps[0].isRepeated = true
                nextDeadline = Clock.now()
                return
            }
            if !clockDiffers { answers = answers.map { $0.mapError(\.withoutClock) } }
            report = ProviderTestStep(step.name, transfer, answers)
            if let subnet = step.clientSubnet {
                report.answers.append(ProviderTest.words(for: step.dialect.clientAddress(in: reply), expected: subnet))
            }
        }
        stepDone(report, now: Clock.now())
    }

    private func stepDone(_ report: ProviderTestStep, now: Instant) {
        stream.send(report)
        let isFatal = report.failure != nil && steps[0].clientSubnet == nil
        steps.removeFirst()
        hasFailed = hasFailed || isFatal
        guard let next = steps.first, !isFatal else { return finish() }
        nextDeadline = now + next.pause
    }

    private static func words(for client: Address?, expected subnet: Prefix) -> String {
        guard let client else { return "the reply names no client address" }
        return client == subnet.address
            ? "understood: the reply is for \(client)" : "not understood: the reply is for \(client)"
    }

    private func finish() {
        if hasFailed {
            stream.refuse("provider \(provider.name) failed the test")
        } else {
            stream.finish()
        }
        isDone = true
    }

    /// Stops the test: the client has disconnected.
    private func stop() {
        if let requestID { fetches.cancel(requestID, now: Clock.now()) }
        nextDeadline = nil
        isDone = true
    }
}

extension ProviderTestStep {
    fileprivate init(_ name: String, _ transfer: TransferReply, _ answers: [Result<Answer, DialectError>]) {
        self.init(name)
        milliseconds = transfer.totalTime.wholeMilliseconds
        if !transfer.connectionWasReused {
            connectMilliseconds = transfer.connectTime.wholeMilliseconds
            handshakeMilliseconds = transfer.handshakeTime.wholeMilliseconds
        }
        connectionWasReused = transfer.connectionWasReused
        httpVersion = transfer.httpVersion == .http2 ? "2" : "1.1"
        certificate = transfer.certificate.map {
            "\($0.subject), by \($0.issuer), until \(LineFormat.day(secondsSince1970: $0.notAfter))"
        }
        var summaries: [String] = []
        for answer in answers {
            switch answer {
            case .success(let answer): summaries.append(answer.summary)
            case .failure(let error): failure = error.description
            }
        }
        self.answers = summaries
    }
}

extension Answer {
    /// "192.0.2.1 192.0.2.2 ttl 60", or the reason for the missing records.
    fileprivate var summary: String {
        switch kind {
        case .records: "\(addresses.map(\.description).joined(separator: " ")) ttl \(ttlSeconds)"
        case .noData: "no data ttl \(ttlSeconds)"
        case .noSuchName: "no such name ttl \(ttlSeconds)"
        case .ambiguousEmpty: "empty ttl \(ttlSeconds)"
        }
    }
}

/// The running tests.
final class ProviderTests: TimedPart {
    let timer = PartTimer()
    private var running: [ProviderTest] = [] { didSet { timer.changed() } }

    /// Bound on tests; operators start them at terminals.
    static let maxRunning = 8

    /// A test that is done is removed at once.
    var nextDeadline: Instant? {
        running.contains(where: \.isDone) ? .atOnce : running.compactMap(\.nextDeadline).min()
    }

    /// Returns false if too many tests run.
    func begin(_ test: ProviderTest, now: Instant) -> Bool {
        running.removeAll(where: \.isDone)
        guard running.count < ProviderTests.maxRunning else { return false }
        running.append(test)
        test.begin(now: now)
        return true
    }

    func timePassed(now: Instant) {
        for test in running { test.timePassed(now: now) }
        running.removeAll(where: \.isDone)
    }
}
