// Carries out fetches from providers: the dialect says what to send and what the reply means, the HTTP client carries
// it. Nothing is decided here but which of a provider's addresses is dialled.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings

final class ProviderFetches {
    private let loop: EventLoop
    private let http: HTTPClient
    private(set) var providers: [Provider] = []
    private var nextProviderID = 0
    private var running: [FetchID: Running] = [:]
    private var fetchOfTransfer: [TransferID: FetchID] = [:]
    private var finished: [(id: FetchID, result: Result<Answer, FetchFailure>)] = []
    /// Providers that changed between answering and failing, and requests that failed, for the log; taken once.
    private var notable: [LogEvent] = []

    /// The resolver abandons a request before; these end what it forgot.
    private static let timeout: Duration = .seconds(5)
    private static let connectTimeout: Duration = .seconds(2)

    private struct Running {
        let provider: ProviderID
        /// Its own, because new settings may take the provider away while its answer is on the way.
        let dialect: any Dialect
        let question: Question
        let transfer: TransferID
        let startedAt: Instant
        let addressIndex: Int
    }

    init(loop: EventLoop) {
        self.loop = loop
        let watcher = DescriptorWatcher(loop)
        http = HTTPClient { descriptor, wants in watcher.update(descriptor, wants) }
        watcher.onReady = { [unowned self] descriptor, readiness in
            http.socketReady(
                descriptor, readable: readiness.contains(.readable), writable: readiness.contains(.writable),
                failed: readiness.contains(.failed) || readiness.contains(.hangUp), now: Clock.now())
        }
    }

    var nextDeadline: Instant? { http.nextDeadline }

    var hasFinished: Bool { !finished.isEmpty || http.hasFinished }

    /// Providers whose settings are the same stay as they are, with what is known about them.
    func setProviders(_ settings: [Settings.Provider]) -> [ProviderTraits] {
        let old = providers
        providers = settings.compactMap { setting in
            if let same = old.first(where: { $0.settings == setting }) { return same }
            defer { nextProviderID += 1 }
            return Provider(id: ProviderID(nextProviderID), setting)
        }
        return providers.map(\.traits)
    }

    func start(_ id: FetchID, _ question: Question, _ provider: ProviderID, now: Instant) {
        guard let index = providers.firstIndex(where: { $0.id == provider }) else {
            finished.append((id, .failure(.unreachable)))
            return
        }
        let (request, endpoint): (HTTPRequest, HTTPEndpoint)
        do throws(DialectError) {
            request = try providers[index].dialect.request(for: question)
            endpoint = providers[index].endpoint
        } catch {
            finished.append((id, .failure(FetchFailure(error))))
            return
        }
        providers[index].requests += 1
        let transfer = http.start(
            TransferRequest(
                method: request.method == .get ? .get : .post, endpoint: endpoint, target: request.url,
                headers: request.headers.fields.map { ($0.name, $0.value) }, body: request.body,
                timeout: ProviderFetches.timeout, connectTimeout: ProviderFetches.connectTimeout,
                needsOwnConnection: providers[index].distrustsConnections(now: now)), now: now)
        running[id] = Running(
            provider: provider, dialect: providers[index].dialect, question: question, transfer: transfer,
            startedAt: now, addressIndex: providers[index].addressIndex)
        fetchOfTransfer[transfer] = id
    }

    func abandon(_ id: FetchID, now: Instant) {
        guard let fetch = running.removeValue(forKey: id) else { return }
        fetchOfTransfer[fetch.transfer] = nil
        http.cancel(fetch.transfer, now: now)
        // The resolver abandons what runs into its time-out; other abandoned requests were only overtaken.
        if fetch.startedAt.duration(to: now) >= Bounds.providerTimeout { failed(fetch, .timeout, "time-out") }
    }

    func timePassed(now: Instant) {
        http.timePassed(now: now)
    }

    func takeFinished() -> [(id: FetchID, result: Result<Answer, FetchFailure>)] {
        let now = Clock.now()
        for (transfer, result) in http.takeFinished() {
            guard let id = fetchOfTransfer.removeValue(forKey: transfer), let fetch = running.removeValue(forKey: id)
            else {
                continue
            }
            finished.append((id, conclude(fetch, result, now: now)))
        }
        defer { finished.removeAll(keepingCapacity: true) }
        return finished
    }

    func takeNotable() -> [LogEvent] {
        defer { notable = [] }
        return notable
    }

    func connections(of provider: Provider) -> ConnectionCounts {
        provider.endpoints.reduce(ConnectionCounts()) { $0 + http.connections(to: $1) }
    }

    // MARK: results

    private func conclude(
        _ fetch: Running, _ result: Result<TransferReply, TransferFailure>, now: Instant
    ) -> Result<Answer, FetchFailure> {
        switch result {
        case .failure(let failure):
            failed(fetch, FetchFailure(failure), failure.description)
            return .failure(FetchFailure(failure))
        case .success(let transfer):
            let headers = HTTPHeaders(transfer.headers.map { HTTPHeaders.Field($0.name, $0.value) })
            let reply = HTTPReply(status: transfer.status, headers: headers, body: transfer.body)
            do throws(DialectError) {
                let answer = try fetch.dialect.answer(from: reply, to: fetch.question)
                answered(fetch, now: now)
                return .success(answer)
            } catch {
                let failure = FetchFailure(error)
                if failure == .garbage, transfer.httpVersion == .http1 {
                    distrustConnections(of: fetch.provider, now: now)
                }
                failed(fetch, failure, error.description)
                return .failure(failure)
            }
        }
    }

    private func distrustConnections(of provider: ProviderID, now: Instant) {
        guard let index = providers.firstIndex(where: { $0.id == provider }) else { return }
        providers[index].distrustConnections(now: now)
    }

    private func answered(_ fetch: Running, now: Instant) {
        guard let index = providers.firstIndex(where: { $0.id == fetch.provider }) else { return }
        providers[index].latency.record(fetch.startedAt.duration(to: now))
        if providers[index].answered() { notable.append(.providerUp(name: providers[index].name)) }
    }

    private func failed(_ fetch: Running, _ failure: FetchFailure, _ reason: String) {
        guard let index = providers.firstIndex(where: { $0.id == fetch.provider }) else { return }
        if providers[index].failed(failure, atAddress: fetch.addressIndex) {
            notable.append(.providerDown(name: providers[index].name, reason: reason))
        } else {
            notable.append(.requestFailed(provider: providers[index].name, reason: reason))
        }
    }
}

/// Keeps the loop's registrations in step with what libcurl wants watched.
private final class DescriptorWatcher {
    private let loop: EventLoop
    private var registrations: [Int32: EventLoop.Registration] = [:]
    var onReady: (Int32, Readiness) -> Void = { _, _ in }

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func update(_ descriptor: Int32, _ wants: SocketInterest) {
        let interest: Readiness
        switch wants {
        case .none:
            if let registration = registrations.removeValue(forKey: descriptor) { loop.unwatch(registration) }
            return
        case .read: interest = .readable
        case .write: interest = .writable
        case .both: interest = [.readable, .writable]
        }
        // Without a registration the transfer ends by its time-out.
        if let registration = registrations[descriptor] {
            try? loop.change(registration, to: interest)
        } else {
            registrations[descriptor] = try? loop.watch(descriptor, for: interest) { [unowned self] readiness in
                onReady(descriptor, readiness)
            }
        }
    }
}
