// Records the main thread's events in the flight recorder: client queries, resolver actions and their outcomes. The
// code that carries out an action calls this; nothing is decided here.

import DNSWire
import LinuxIO
import Resolver
import Settings
import Telemetry

final class FlightRecorder {
    let records: FlightRecords
    private let ring: FlightRing
    private var wordOfText: [String: FlightWord] = [:]
    // Few, so that a search costs less than hashing.
    private var wordsOfCodes: [(code: ResponseCode, word: FlightWord)] = []
    /// The names of sources, until the upstreams change.
    private var wordsOfSources: [(source: Source, word: FlightWord)] = []
    /// Fetches in flight. Each ends once or is abandoned.
    private var fetches: [FetchID: Fetch] = [:]

    private struct Fetch {
        let question: Question
        let upstream: FlightWord
        let begunAt: Instant
    }

    init(_ records: FlightRecords) {
        self.records = records
        ring = records.ofMainThread
    }

    // MARK: clients

    /// - Parameter rule: what blocked the name.
    func answered(
        _ client: Client, _ code: ResponseCode, _ extendedError: ExtendedError?, from source: FlightEvent.Source,
        by rule: BlockingRule? = nil, now: Instant
    ) {
        let event = FlightSlot(
            source == .refused ? .refused : .answered, atNanoseconds: nanoseconds(now), from: source,
            type: client.question.type, code, extendedError: extendedError?.code, microseconds: wait(of: client, now),
            upstream: rule.map { word(of: $0) } ?? FlightWord.none, transport: client.query.transport)
        ring.record(event, address: client.address, about: client.question.name)
    }

    func dropped(_ client: Client, _ reason: String, now: Instant) {
        let event = FlightSlot(
            .dropped, atNanoseconds: nanoseconds(now), type: client.question.type, microseconds: wait(of: client, now),
            outcome: word(reason), transport: client.query.transport)
        ring.record(event, address: client.address, about: client.question.name)
    }

    private func wait(of client: Client, _ now: Instant) -> UInt32 { microseconds(client.askedAt.duration(to: now)) }

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
            ring.record(FlightSlot(.networkChanged, atNanoseconds: nanoseconds(now), network: network.rawValue))
        case .upstreamsChanged: wordsOfSources.removeAll()
        case .asked, .prefetchDue, .servedAgain, .answeredFromCache, .requested, .restored, .forgotten,
            .flushed, .volunteered, .fetchWaits, .fetchAwaitsFleet, .fetchSent, .fetchShared, .fetchDeferred,
            .demandElsewhere, .evidence, .probeFinished, .probeRequested, .switchedOff, .throttled, .overQuota,
            .unacknowledged, .providerReset, .policyChanged, .hostsChanged, .leasesChanged, .redirected, .network,
            .nat64Prefixes, .auditRestored, .timePassed:
            break
        }
    }

    // Actions are recorded before they are carried out, and replies to clients when they are sent. Of the scopes, only
    // `all` has actions.

    /// - Parameter name: of the source.
    func begun(
        _ id: FetchID, _ question: Question, at source: Source, named name: @autoclosure () -> String, isRefresh: Bool,
        now: Instant
    ) {
        guard records.scope == .all else { return }
        let upstream = word(of: source, name)
        fetches[id] = Fetch(question: question, upstream: upstream, begunAt: now)
        let event = FlightSlot(
            isRefresh ? .refreshBegun : .fetchBegun, atNanoseconds: nanoseconds(now), type: question.type,
            upstream: upstream)
        ring.record(event, about: question.name)
    }

    func abandoned(_ id: FetchID, now: Instant) { ended(id, word("abandoned"), now: now) }

    func stored(
        _ question: Question, _ answer: Answer, from source: Source, named name: @autoclosure () -> String, now: Instant
    ) {
        guard records.scope == .all else { return }
        let event = FlightSlot(
            .stored, atNanoseconds: nanoseconds(now), type: question.type, outcome: word(answer.responseCode),
            upstream: word(of: source, name))
        ring.record(event, about: question.name)
    }

    func probed(_ target: ProbeTarget, _ result: ProbeResult, now: Instant) {
        guard records.scope == .all else { return }
        let times = [result.connectTime, result.handshakeTime].compactMap { $0 }.reduce(.zero, +)
        let event = FlightSlot(
            .probeEnded, atNanoseconds: nanoseconds(now), microseconds: microseconds(times),
            outcome: word(result.verdict.rawValue))
        ring.record(event, address: target.address, about: target.name)
    }

    func diverged(
        _ question: Question, _ address: Address?, _ source: Source, named name: @autoclosure () -> String, now: Instant
    ) {
        guard records.scope == .all else { return }
        let event = FlightSlot(
            .divergence, atNanoseconds: nanoseconds(now), type: question.type, upstream: word(of: source, name))
        ring.record(event, address: address, about: question.name)
    }

    func changed(_ provider: String, to state: ProviderState, now: Instant) {
        ring.record(
            FlightSlot(
                .providerChanged, atNanoseconds: nanoseconds(now), outcome: word(state.rawValue),
                upstream: word(provider)))
    }

    /// An abandoned fetch may still report its end, which is ignored here.
    private func ended(_ id: FetchID, _ outcome: @autoclosure () -> FlightWord, now: Instant) {
        guard let fetch = fetches.removeValue(forKey: id) else { return }
        let event = FlightSlot(
            .fetchEnded, atNanoseconds: nanoseconds(now), type: fetch.question.type,
            microseconds: microseconds(fetch.begunAt.duration(to: now)), outcome: outcome(), upstream: fetch.upstream)
        ring.record(event, about: fetch.question.name)
    }

    func settingsReloaded(now: Instant) {
        ring.record(FlightSlot(.settingsReloaded, atNanoseconds: nanoseconds(now)))
    }

    private func nanoseconds(_ now: Instant) -> UInt64 { Clock.nanosecondsSinceBoot(now) }

    private func microseconds(_ duration: Duration) -> UInt32 { UInt32(clamping: duration.microsecondsRoundedUp) }

    /// Rules may have more names than the string table has places: some are left to providers and results.
    private func word(of rule: BlockingRule) -> FlightWord {
        let isFull = wordOfText.count >= FlightStrings.capacity / 2 && wordOfText[rule.text] == nil
        return word(isFull ? "rule" : rule.text)
    }

    private func word(of source: Source, _ name: () -> String) -> FlightWord {
        for index in wordsOfSources.indices where wordsOfSources[index].source == source {
            return wordsOfSources[index].word
        }
        let new = word(name())
        if new != .none { wordsOfSources.append((source, new)) }
        return new
    }

    private func word(_ code: ResponseCode) -> FlightWord {
        for known in wordsOfCodes where known.code == code { return known.word }
        let new = word(code.description)
        if new != .none { wordsOfCodes.append((code, new)) }
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
