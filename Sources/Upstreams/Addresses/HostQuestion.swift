// Asks nameservers and providers for a provider's host name, as `HostLookup` decides. The questions pass neither the
// cache nor the daemon's own sockets.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver

/// A question is owned by its steps, and by the list that waits for it.
final class HostQuestion {
    private let name: Name
    private var lookup: HostLookup
    private let providers: ProviderFetches
    private let system: SystemFetches
    private var finish: ((HostLookup) -> Void)?
    private var questions: [SystemFetches.OwnRequest] = []
    private var transfers: [TransferID] = []

    /// - Parameter finish: called once, unless the question is cancelled.
    init(
        _ name: Name, _ lookup: HostLookup, _ providers: ProviderFetches, _ system: SystemFetches,
        _ finish: @escaping (HostLookup) -> Void
    ) {
        self.name = name
        self.lookup = lookup
        (self.providers, self.system) = (providers, system)
        self.finish = finish
    }

    /// Asks whatever is to be asked now.
    func proceed(now: Instant) {
        repeat {
            for step in lookup.next() { ask(step, now: now) }
        } while !lookup.isFinished && !lookup.isWaiting
        guard lookup.isFinished, let finish = finish.take() else { return }
        finish(lookup)
    }

    func cancel(now: Instant) {
        finish = nil
        for question in questions { system.cancel(question) }
        for transfer in transfers { providers.cancel(transfer, now: now) }
    }

    private func ask(_ step: HostLookup.Step, now: Instant) {
        let question = Question(name, step.type)
        switch step.source {
        case .system:
            questions.append(
                system.ask(question, now: now) { [weak self] result in self?.answered(step, result)
                })
        case .provider(let id):
            guard let provider = providers.provider(id), provider.dialect.supports(question),
                let endpoint = provider.chooseEndpoints(now: now)?.first.endpoint,
                let request = try? provider.dialect.request(
                    for: [question], in: providers.context(of: provider))
            else { return lookup.answered(step, nil) }
            let transfer = providers.carry(
                request, to: endpoint, timeout: provider.timeout, now: now
            ) { [weak self] result in
                let answers = try? provider.dialect.answers(from: HTTPReply(result.get()), to: [question])
                self?.answered(step, answers?.first.map { FetchResult($0) })
            }
            transfers.append(transfer)
        }
    }

    private func answered(_ step: HostLookup.Step, _ result: FetchResult?) {
        guard case .success(let answer)? = result else {
            lookup.answered(step, nil)
            return proceed(now: Clock.now())
        }
        lookup.answered(step, answer)
        proceed(now: Clock.now())
    }
}
