// Records the main thread's events in the flight recorder: client queries, resolver actions and their outcomes. The
// code that carries out an action calls this; nothing is decided here.

import DNSWire
import LinuxIO
import Resolver
import Settings
import Telemetry

final class FlightRecorder {
    let records: FlightRecords
    private var wordOfText: [String: FlightWord] = [:]
    private var wordOfCode: [ResponseCode: FlightWord] = [:]
    /// Fetches in flight. Each ends once or is abandoned.
    private var fetches: [FetchID: Fetch] = [:]

    private struct Fetch {
        let question: Question
        let upstream: FlightWord
        let begunAt: Instant
    }

    init(_ records: FlightRecords) {
        self.records = records
    }

    // MARK: clients

    /// - Parameter rule: what blocked the name.
    func answered(
        _ client: Client, _ code: ResponseCode, _ extendedError: ExtendedError?, from source: FlightEvent.Source,
        by rule: BlockingRule? = nil, now: Instant
    ) {
        var event = event(source == .refused ? .refused : .answered, client, now: now)
        event.source = source
        event.code = code
        event.extendedError = extendedError?.code
        if let rule { event.upstream = word(of: rule) }
        records.ofMainThread.record(event)
    }

    func dropped(_ client: Client, _ reason: String, now: Instant) {
        var event = event(.dropped, client, now: now)
        event.outcome = word(reason)
        records.ofMainThread.record(event)
    }

    private func event(_ kind: FlightEvent.Kind, _ client: Client, now: Instant) -> FlightEvent {
        let question = client.question
        var event = event(kind, question.name, now: now)
        event.type = question.type
        event.address = client.address
        event.microseconds = UInt32(clamping: client.askedAt.duration(to: now).microsecondsRoundedUp)
        event.transport = client.query.transport
        return event
    }

    // MARK: the resolver

    /// Records an event before the resolver handles it.
    func note(_ event: Event, now: Instant) {
        switch event {
        case .fetchFinished(let id, let result):
            switch result {
            case .success(let answer): ended(id, word(answer.responseCode), now: now)
            case .nameFailed(let failure): ended(id, word(failure.responseCode), now: now)
            case .notServed: ended(id, word("not served"), now: now)
            case .omitted: ended(id, word("omitted"), now: now)
            case .failure(let failure): ended(id, word(failure.rawValue), now: now)
            }
        case .network(.changed(let network)):
            var event = self.event(.networkChanged, nil, now: now)
            event.network = network.rawValue
            records.ofMainThread.record(event)
        case .asked, .prefetchDue, .servedAgain, .answeredFromCache, .requested, .restored, .forgotten,
            .flushed, .volunteered, .fetchWaits, .fetchAwaitsFleet, .fetchSent, .fetchShared, .fetchDeferred,
            .demandElsewhere, .evidence, .probeFinished, .probeRequested, .switchedOff, .throttled, .overQuota,
            .unacknowledged, .providerReset, .upstreamsChanged, .policyChanged, .hostsChanged, .leasesChanged,
            .redirected, .network, .nat64Prefixes, .timePassed:
            break
        }
    }

    /// Records an action before it is carried out. Replies to clients are recorded when they are sent.
    func note(_ action: Action, nameOfSource: (Source) -> String, now: Instant) {
        if case .abandon(let id) = action { return ended(id, word("abandoned"), now: now) }
        guard records.scope == .all else { return }
        switch action {
        case .fetch(let id, let question, let upstream, let purpose):
            begun(id, question, nameOfSource(Source(upstream)), isRefresh: purpose.isRefresh, now: now)
        case .shadow(let id, let question, let provider):
            begun(id, question, nameOfSource(.provider(provider)), isRefresh: true, now: now)
        case .store(let question, let answer, let source, _):
            var event = event(.stored, question.name, now: now)
            event.type = question.type
            event.outcome = word(answer.responseCode)
            event.upstream = word(nameOfSource(source))
            records.ofMainThread.record(event)
        case .probeNews(.found(let target, let result)):
            var event = event(.probeEnded, target.name, now: now)
            event.address = target.address
            event.outcome = word(result.verdict.rawValue)
            let times = [result.connectTime, result.handshakeTime].compactMap { $0 }.reduce(.zero, +)
            event.microseconds = UInt32(clamping: times.microsecondsRoundedUp)
            records.ofMainThread.record(event)
        case .forged(let evidence):
            var event = event(.divergence, evidence.question.name, now: now)
            event.type = evidence.question.type
            event.address = evidence.mismatched.target.address
            event.upstream = word(nameOfSource(evidence.mismatched.source))
            records.ofMainThread.record(event)
        case .contradicted(let answer):
            var event = event(.divergence, answer.question.name, now: now)
            event.type = answer.question.type
            event.address = answer.addresses.first
            event.upstream = word(nameOfSource(answer.source))
            records.ofMainThread.record(event)
        case .reply, .replyExpired, .fail, .rearrange, .remove, .withdraw, .abandon, .awaitAsk, .probe, .probeNews,
            .portal:
            break
        }
    }

    func changed(_ provider: String, to state: ProviderState, now: Instant) {
        var event = event(.providerChanged, nil, now: now)
        event.upstream = word(provider)
        event.outcome = word(state.rawValue)
        records.ofMainThread.record(event)
    }

    private func begun(_ id: FetchID, _ question: Question, _ upstream: String, isRefresh: Bool, now: Instant) {
        let upstream = word(upstream)
        fetches[id] = Fetch(question: question, upstream: upstream, begunAt: now)
        var event = event(isRefresh ? .refreshBegun : .fetchBegun, question.name, now: now)
        event.type = question.type
        event.upstream = upstream
        records.ofMainThread.record(event)
    }

    /// An abandoned fetch may still report its end, which is ignored here.
    private func ended(_ id: FetchID, _ outcome: @autoclosure () -> FlightWord, now: Instant) {
        guard let fetch = fetches.removeValue(forKey: id) else { return }
        var event = event(.fetchEnded, fetch.question.name, now: now)
        event.type = fetch.question.type
        event.upstream = fetch.upstream
        event.outcome = outcome()
        event.microseconds = UInt32(clamping: fetch.begunAt.duration(to: now).microsecondsRoundedUp)
        records.ofMainThread.record(event)
    }

    func settingsReloaded(now: Instant) { note(.settingsReloaded, "", now: now) }

    private func note(_ kind: FlightEvent.Kind, _ outcome: String, now: Instant) {
        var event = event(kind, nil, now: now)
        event.outcome = word(outcome)
        records.ofMainThread.record(event)
    }

    private func event(_ kind: FlightEvent.Kind, _ name: Name?, now: Instant) -> FlightEvent {
        var event = FlightEvent(kind, nanoseconds: Clock.nanosecondsSinceBoot(now))
        event.name = name
        return event
    }

    /// Rules may have more names than the string table has places: some are left to providers and results.
    private func word(of rule: BlockingRule) -> FlightWord {
        let isFull = wordOfText.count >= FlightStrings.capacity / 2 && wordOfText[rule.text] == nil
        return word(isFull ? "rule" : rule.text)
    }

    private func word(_ code: ResponseCode) -> FlightWord {
        if let known = wordOfCode[code] { return known }
        let new = word(code.description)
        if new != .none { wordOfCode[code] = new }
        return new
    }

    /// Returns the text's number in the string table. The table is bounded: if it is full, this returns the empty word,
    /// and the next call tries again.
    private func word(_ text: String) -> FlightWord {
        if let known = wordOfText[text] { return known }
        let new = records.words.append(text)
        if new != .none { wordOfText[text] = new }
        return new
    }
}

extension Source {
    /// The recorder's code for this source.
    var ofEvent: FlightEvent.Source {
        switch self {
        case .provider, .nameserver: .provider
        case .system: .system
        case .local: .local
        case .fallback: .fallback
        }
    }
}

extension BlockingRule {
    /// A long path loses its beginning.
    fileprivate var text: String {
        switch self {
        case .name(let name): return "rule \(name)"
        case .list(let path):
            let room = FlightStrings.maxBytes - "list ...".utf8.count
            guard path.utf8.count > room else { return "list \(path)" }
            return "list ...\(String(decoding: path.utf8.suffix(room), as: UTF8.self))"
        }
    }
}

extension FlightScope {
    init(_ setting: Settings.Log.Recorder) {
        self =
            switch setting {
            case .all: .all
            case .failures: .failures
            case .off: .off
            }
    }
}

extension FlightEvent.Source {
    /// The counter of answers from this source.
    var count: Count {
        switch self {
        case .cache: .cacheResponses
        case .stale: .staleResponses
        case .provider: .providerResponses
        case .system: .systemResponses
        case .none, .local: .localResponses
        case .fallback: .fallbackResponses
        case .refused: .refusedResponses
        case .failure: .failureResponses
        case .limited: .limitedResponses
        case .blocked: .blockedResponses
        }
    }
}
