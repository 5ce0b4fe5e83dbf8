// The slow path over a cache of its own, without clients and nameservers, for tests of the parts that use it.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Telemetry
import TestSupport

@testable import Daemon
@testable import Upstreams

struct ResolvingStand {
    let cache: AnswerCache
    let resolving: ResolvingLoop
    let serving = ServingState(Partition(rawValue: 1), seed: 1)
    let outbox = Outbox()

    /// - Parameter path: the file of the store; nil: memory only.
    init(storeAt path: String? = nil) throws {
        let cache = AnswerCache(limitBytes: 1 << 20, seed: (1, 2))
        self.cache = cache
        let loop = try EventLoop()
        let access = AccessList(Prefix.everywhere)
        let (serving, outbox) = (serving, outbox)
        let recorder = FlightRecorder(FlightRecords(servingThreads: 0))
        let makeFastPath = { FastPath(cache: cache, access: access, serving: serving, version: ServingStand.version) }
        resolving = try ResolvingLoop(
            loop: loop, outbox: outbox,
            upstreams: Upstreams(
                loop: loop, outbox: outbox, seed: 1, maxExchanges: DescriptorBudget.maxExchanges,
                hasStore: path != nil),
            probes: Probes(loop: loop),
            streams: StreamServer(
                listeners: [], loop: loop, access: access, fastPath: makeFastPath(),
                ring: recorder.records.ofMainThread, maxConnections: 16),
            mailbox: Mailbox<Notice>(capacity: 16),
            store: path.map { path in
                try StoreThread(
                    path: path, cache: cache, maxAge: .seconds(3_600), maxTTL: .seconds(3_600), maxRows: 100,
                    loop: loop,
                    outbox: outbox)
            }, answers: CachedAnswers(cache, serving),
            seed: 1, fastPath: makeFastPath(), recorder: recorder)
    }

    /// Sets the providers as a reload does.
    func setProviders(_ settings: [Settings.Provider], now: Instant) throws {
        var accounts: [ProviderAccount] = []
        for provider in settings { accounts.append(try ProviderAccount(provider)) }
        let traits = resolving.upstreams.providers.setProviders(accounts)
        resolving.handle(.upstreamsChanged(providers: traits, hasSystem: false), now: now)
    }

    func keep(
        _ question: Question, from sourceClass: SourceClass, addresses: [Address] = [.v4(0xC000_0201)], now: Instant
    ) {
        let answer = Answer(
            records: addresses.map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: 600) })
        cache.store(
            RenderedAnswer(answer, to: question), lifetimeSeconds: answer.ttlSeconds, for: question,
            partition: serving.partition(for: .all), sourceClass: sourceClass,
            nowMilliseconds: Clock.millisecondsSinceBoot(now))
    }

    func evidence() -> EvidenceLog { EvidenceLog(resolving.upstreams, resolving.store) }

    /// Handles results and outputs as a turn of the loop does.
    func settle(now: Instant) {
        repeat {
            resolving.reportResults()
            carryOut(now: now)
        } while resolving.hasResults || !outbox.isEmpty
    }

    /// Carries out the parts' outputs that concern resolver, cache and store.
    func carryOut(now: Instant) {
        for output in outbox.takeAll() {
            switch output {
            case .event(let event), .upstream(.event(let event)): resolving.take(event, now: now)
            case .note(let name, let text), .upstream(.note(let name, let text)):
                resolving.store?.note(name, text, now: now)
            case .remove(let scope), .forget(let scope): _ = resolving.remove(scope, now: now)
            default: break
            }
        }
    }

    /// The log events since the last call.
    func logged() -> [LogEvent] {
        outbox.takeAll().compactMap { output in
            switch output {
            case .log(let event): event
            case .upstream(let output): output.logEvent
            default: nil
            }
        }
    }

    /// The probe results since the last call.
    func probed() -> [ProbeNews] {
        outbox.takeAll().compactMap { if case .probe(let news) = $0 { news } else { nil } }
    }

    /// The entries of the cache after `carryOut`, in alphabetical order.
    var kept: [String] {
        carryOut(now: Clock.now())
        var cursor: AnswerCache.Cursor? = AnswerCache.Cursor()
        var names: [String] = []
        while let next = cursor {
            let piece = cache.walk(from: next, .everything, maxEntries: 16)
            names += piece.entries.map { "\($0.question.name) \($0.sourceClass)" }
            cursor = piece.next
        }
        return names.sorted()
    }
}

extension Outbox {
    func takeAll() -> [Output] {
        var outputs: [Output] = []
        while let output = take() { outputs.append(output) }
        return outputs
    }
}
