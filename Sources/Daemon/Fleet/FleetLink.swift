// Shares answers of providers with the other members of a fleet. `SharedFetches` decides whether Redis or the provider
// is asked; this carries its steps out.

import Crypto
import DNSWire
import Fleet
import LinuxIO
import Redis
import Resolver
import Settings
import Telemetry

/// Without [fleet], it does nothing.
final class FleetLink: LoopPart {
    /// What follows for a fetch that the resolver has begun.
    enum Outcome {
        /// The provider is to be asked.
        case ask(Request)
        /// Another member's answer.
        case answered(Request, Answer)
        /// Another member's answer that came after the provider was asked.
        case late(Request, Answer)
        /// The fleet has flushed these answers.
        case flush(QuestionScope)
        /// Flushes up to this one are carried out, for the next start.
        case seen(String)
    }

    struct Request {
        let id: FetchID
        let question: Question
        let provider: ProviderID
        let purpose: FetchPurpose
    }

    /// How a fetch from a provider ended.
    enum End {
        case answer(Answer, provider: String)
        /// An answer that is of no use for others: each has to ask.
        case unshareable
        case failed
    }

    /// An entry whose lease may be this member's, and that was not published.
    private struct Unpublished {
        let entry: String
        /// All that wait for it are told; otherwise one, which gets the next lease.
        let tellsAll: Bool
    }

    /// Who asked a provider for an answer of ours, for `explain`.
    private struct Origin {
        let member: String
        let at: Instant
    }

    private enum Script: Int, CaseIterable {
        case lease
        case publication
        case release
        case flush
        case flushes

        var text: String {
            switch self {
            case .lease: LeaseScript.text
            case .publication: LeaseScript.publication
            case .release: LeaseScript.release
            case .flush: LeaseScript.flush
            case .flushes: LeaseScript.flushes
            }
        }
    }

    /// More than any answer's TTL.
    private static let anyAge: Duration = .seconds(1 << 32)
    /// An answer that ends sooner is not worth sharing.
    private static let leastLife: Duration = .milliseconds(500)
    /// Name of the store's note with the last flush that was carried out.
    static let seenNote = "fleet-flush"
    /// What a release tells: one of those that wait, which gets the next lease; or all, which ask at once.
    private static let (one, all) = ("one", "all")
    private static let flushStream = "h1:f"
    private static let flushChannel = "h1:f"
    /// Then all are forgotten.
    private static let maxOrigins = 4096

    let redis: RedisLink
    private var setup: FleetSetup?
    /// The rules that answers have to satisfy, as in `Policy.acceptanceDigest`.
    private var rules: String?
    private var fetches = SharedFetches(readTimeout: .milliseconds(5))
    /// By the numbers of their fetches.
    private var requests: [UInt64: Request] = [:]
    /// Names this process in leases.
    private let token: [UInt8]
    private var outcomes: [Outcome] = []
    private var origins: [Question: Origin] = [:]
    private var ended: [Unpublished] = []
    private var flushes = Flushes()
    /// The last flush of the fleet that was carried out before the start; nil: none is known.
    private var seenBefore: FlushNumber?
    /// `seenBefore` is known: the store was read, or there is none.
    private var isStoreRead = false
    /// The flushes that were read, by number; nil: none were read yet.
    private var seen: Set<String>?
    /// The last of them since Redis is used; nil: none were read since then.
    private var lastSeen: String?
    private var isCaughtUp = false
    private(set) var refusals: [SharedAnswer.Refusal: UInt64] = [:]
    private(set) var published: UInt64 = 0
    /// Answers that were not published, because Redis was not used or did not read.
    private(set) var unpublished: UInt64 = 0

    init(loop: EventLoop, seed: UInt64) {
        redis = RedisLink(loop: loop)
        token = Array(String(seed, radix: 36).utf8)
    }

    var isOn: Bool { setup != nil }
    var settings: Settings.Fleet? { setup?.settings }
    var counts: SharedFetches.Counts { fetches.counts }

    func configure(_ setup: FleetSetup?, rules: String?, now: Instant) {
        self.rules = rules
        guard setup != self.setup else { return }
        carryOut(fetches.switchedOff(), now: now)
        self.setup = setup
        if let setup { fetches.readTimeout = setup.settings.readTimeout }
        redis.configure(
            setup.map { setup in
                RedisLink.Account(
                    servers: setup.settings.servers.map(\.endpoint),
                    names: setup.settings.servers.map(\.description), user: setup.settings.user,
                    password: setup.password, scripts: Script.allCases.map(\.text),
                    channels: [channel, FleetLink.flushChannel], testKey: "h1:t",
                    readTimeout: setup.settings.readTimeout)
            }, now: now)
    }

    // MARK: fetches

    /// Takes a fetch over if its answer may be shared.
    ///
    /// - Parameter life: of the cached answer that a refresh replaces; nil: there is none.
    /// - Returns: false if the provider is to be asked at once.
    func begin(_ request: Request, at provider: Provider, replacing life: Duration?, now: Instant) -> Bool {
        guard isOn, let entries = entries(request.question, at: provider) else { return false }
        let usual: Duration? = provider.latency.percentile(95).map { .microseconds($0) }
        let terms = SharedFetches.Terms(
            entries: entries, lease: LeaseScript.life(usual95: usual),
            leastLife: life.map { $0 + FleetLink.leastLife } ?? FleetLink.leastLife,
            mostAge: flushes.age(of: request.question, now: now), patience: provider.timeout / 2)
        let number = request.id.number
        requests[number] = request
        carryOut([fetches.begin(number, terms, isInUse: redis.isInUse, now: now)], now: now)
        return true
    }

    /// Nil for an answer that is not shared: of clients with a view or subnet of their own, or to DO or CD.
    private func entries(_ question: Question, at provider: Provider) -> [String]? {
        guard let setup, question.clients == .all, question.dnssec.isEmpty, !provider.isShadow
        else { return nil }
        let terms = EntryTerms(
            question, site: setup.settings.site ?? "", provider: provider.identity(for: question.name),
            clientSubnet: provider.subnetSent(for: .all), rules: rules)
        do throws(CryptoError) {
            return try setup.keys.entries(terms)
        } catch {
            return nil
        }
    }

    func request(_ id: FetchID) -> Request? { requests[id.number] }

    func abandon(_ id: FetchID) {
        guard requests.removeValue(forKey: id.number) != nil else { return }
        let entry = fetches.terms(of: id.number)?.entry
        if fetches.ended(id.number), let entry { ended.append(Unpublished(entry: entry, tellsAll: false)) }
    }

    /// A provider has answered the fetch, or failed: publishes the answer, or gives the lease back.
    func heard(_ id: FetchID, _ end: End, now: Instant) {
        guard let request = requests.removeValue(forKey: id.number) else { return }
        let entry = fetches.terms(of: id.number)?.entry
        guard fetches.ended(id.number), let entry else { return }
        switch end {
        case .answer(let answer, let provider):
            origins[request.question] = nil
            if !publish(answer, to: request.question, as: entry, from: provider, now: now) {
                ended.append(Unpublished(entry: entry, tellsAll: true))
            }
        case .unshareable: ended.append(Unpublished(entry: entry, tellsAll: true))
        case .failed: ended.append(Unpublished(entry: entry, tellsAll: false))
        }
    }

    /// A provider has answered a question that it was not asked in this fetch.
    func volunteered(_ question: Question, _ answer: Answer, by provider: Provider, now: Instant) {
        guard let entry = entries(question, at: provider)?.first else { return }
        _ = publish(answer, to: question, as: entry, from: provider.name, now: now)
    }

    /// Gives back leases that have brought no answer.
    func settle(now: Instant) {
        guard !ended.isEmpty else { return }
        for each in ended { release(each, now: now) }
        ended = []
    }

    private func release(_ unpublished: Unpublished, now: Instant) {
        let reader = Array((unpublished.tellsAll ? FleetLink.all : FleetLink.one).utf8)
        _ = redis.run(Script.release.rawValue, keys: FleetLink.keys(unpublished.entry), [token, reader], now: now) {
            _ in
        }
    }

    /// Whether there is a fetch whose end counts, also one that began before [fleet] was removed.
    var isBusy: Bool { isOn || !requests.isEmpty }

    /// Whether the resolver still waits for the fetch.
    func isOpen(_ id: FetchID) -> Bool { requests[id.number] != nil }

    func takeOutcomes() -> [Outcome] {
        defer { outcomes.removeAll(keepingCapacity: true) }
        return outcomes
    }

    var hasOutcomes: Bool { !outcomes.isEmpty }

    // MARK: flushes

    /// Answers that a provider gave before are not used any more.
    func flushed(_ scope: QuestionScope, now: Instant) {
        if isOn { flushes.add(scope, at: now, now: now) }
    }

    /// Orders all members to flush.
    ///
    /// - Returns: why that is not possible.
    func orderFlush(_ scope: QuestionScope, now: Instant) -> String? {
        guard let setup else { return "there is no fleet; add [fleet] to the settings" }
        guard redis.isInUse else {
            return
                "Redis is not used: \(redis.fault ?? "it has not answered yet"); without --fleet, this machine alone "
                + "is flushed"
        }
        do throws(CryptoError) {
            let order = try FlushOrder(scope).bytes(setup.keys, number: SystemEntropy().next())
            let keys = [FleetLink.flushStream, FleetLink.flushChannel]
            let isSent = redis.run(Script.flush.rawValue, keys: keys, [order], now: now) { _ in }
            return isSent ? nil : "Redis does not read"
        } catch {
            return error.text
        }
    }

    /// The store was read, or cannot be.
    ///
    /// - Parameter note: what `Outcome.seen` had before the start.
    func restore(_ note: String?, now: Instant) {
        guard !isStoreRead else { return }
        (seenBefore, isStoreRead) = (note.flatMap { FlushNumber(Array($0.utf8)) }, true)
        if redis.isInUse { readFlushes(now: now) }
    }

    /// Whether the flushes are known, as far as Redis is used.
    var knowsFlushes: Bool { isCaughtUp || redis.fault != nil }

    private func readFlushes(now: Instant) {
        guard isStoreRead else { return }
        let first = Array((lastSeen.map { "(\($0)" } ?? "-").utf8)
        let isWhole = lastSeen == nil
        _ = redis.run(Script.flushes.rawValue, keys: [FleetLink.flushStream], [first], now: now) { [unowned self] in
            takeFlushes($0, isWhole: isWhole, now: Clock.now())
        }
    }

    /// After the start, those are carried out that this machine has not carried out before it; later all that are new.
    ///
    /// - Parameter isWhole: all flushes that the stream has were asked for.
    private func takeFlushes(_ reply: RedisReply, isWhole: Bool, now: Instant) {
        guard let setup, let parts = reply.elements, parts.count == 2, let time = parts[0].number, time > 0,
            let elements = parts[1].elements
        else { return }
        let (before, isFirst) = (seen ?? [], seen == nil)
        if isWhole { seen = [] }
        var hasNew = false
        for element in elements {
            guard let parts = element.elements, parts.count == 2, let number = FlushNumber(parts[0].bytes ?? []),
                let fields = parts[1].elements, fields.count == 2, let bytes = fields[1].bytes
            else { continue }
            lastSeen = number.text
            seen?.insert(number.text)
            guard !before.contains(number.text) else { continue }
            hasNew = true
            guard let order = FlushOrder(bytes, setup.keys) else {
                refusals[.unauthenticated, default: 0] += 1
                continue
            }
            let age = Duration.milliseconds(max(0, time - number.milliseconds))
            flushes.add(order.scope, at: now - age, now: now)
            if !isFirst || seenBefore.map({ $0 < number }) ?? false { outcomes.append(.flush(order.scope)) }
        }
        isCaughtUp = true
        // The next reading is whole, and leaves out those that the stream has no more.
        if (seen ?? []).count > 2 * Flushes.maxCount { lastSeen = nil }
        // Elements that come later have this number or a greater one.
        if isFirst || hasNew { outcomes.append(.seen("\(time - 1)-0")) }
    }

    /// Which member has asked a provider for the question's answer, and when; nil: this one, or none.
    func origin(of question: Question, now: Instant) -> String? {
        origins[question].map { "put \($0.at.duration(to: now).wholeSeconds) s ago by \($0.member)" }
    }

    private func take(_ shared: SharedAnswer, _ left: Duration, _ request: Request, now: Instant) -> Answer {
        if origins.count >= FleetLink.maxOrigins { origins = [:] }
        let age = max(.zero, .seconds(shared.answer.ttlSeconds) - left)
        origins[request.question] = Origin(member: shared.member, at: now - age)
        return shared.answer(left: left)
    }

    // MARK: steps

    private func carryOut(_ steps: [SharedFetches.Step], now: Instant) {
        for step in steps {
            switch step {
            case .call(let number): call(number, now: now)
            case .ask(let number):
                if let request = requests[number] { outcomes.append(.ask(request)) }
            case .give(let number, let shared, let left):
                if let request = requests.removeValue(forKey: number) {
                    outcomes.append(.answered(request, take(shared, left, request, now: now)))
                }
            case .late(let number, let shared, let left):
                if let request = requests[number] {
                    outcomes.append(.late(request, take(shared, left, request, now: now)))
                }
            }
        }
    }

    private func call(_ number: UInt64, now: Instant) {
        guard let terms = fetches.terms(of: number) else { return }
        let arguments = [
            token, Array(String(terms.lease.wholeMilliseconds).utf8),
            Array(String(terms.leastLife.wholeMilliseconds).utf8),
            Array(String((terms.mostAge ?? FleetLink.anyAge).wholeMilliseconds).utf8), Array(channel.utf8),
        ]
        let keys = FleetLink.keys(terms.entry) + terms.entries.dropFirst()
        let isSent = redis.run(Script.lease.rawValue, keys: keys, arguments, now: now) { [unowned self] reply in
            guard let request = requests[number] else { return giveBack(reply, terms, now: Clock.now()) }
            let now = Clock.now()
            carryOut(fetches.replied(number, read(reply, request, terms), now: now), now: now)
        }
        if !isSent { carryOut(fetches.replied(number, .useless, now: now), now: now) }
    }

    /// The request has ended before the reply came. A lease without use would make others wait.
    private func giveBack(_ reply: RedisReply, _ terms: SharedFetches.Terms, now: Instant) {
        guard reply.elements?.first?.number == 2 else { return }
        release(Unpublished(entry: terms.entry, tellsAll: false), now: now)
    }

    private func read(
        _ reply: RedisReply, _ request: Request, _ terms: SharedFetches.Terms
    ) -> SharedFetches.Reply {
        guard let elements = reply.elements, let kind = elements.first?.number else { return .useless }
        switch (kind, elements.count) {
        case (1, 4):
            guard let key = elements[1].number, let value = elements[2].bytes, let left = elements[3].number,
                1...Int64(terms.entries.count) ~= key,
                let shared = shared(value, request.question, entry: terms.entries[Int(key) - 1])
            else { return .useless }
            return .answer(shared, left: .milliseconds(left))
        case (2, 1): return .ours
        case (3, 2): return elements[1].number.map { .theirs(left: .milliseconds($0)) } ?? .useless
        default: return .useless
        }
    }

    private func shared(_ value: [UInt8], _ question: Question, entry: String) -> SharedAnswer? {
        guard let setup else { return nil }
        do throws(SharedAnswer.Refusal) {
            return try SharedAnswer(value, question, entry: entry, setup.keys)
        } catch {
            refusals[error, default: 0] += 1
            return nil
        }
    }

    /// - Returns: false if others do not get it.
    private func publish(
        _ answer: Answer, to question: Question, as entry: String, from provider: String, now: Instant
    ) -> Bool {
        guard let setup else { return false }
        let shared = SharedAnswer(answer, from: provider, by: setup.member)
        guard let value = try? shared.bytes(question, entry: entry, setup.keys) else { return false }
        let life = Array(String(UInt64(answer.ttlSeconds) * 1000).utf8)
        let isSent =
            redis.isInUse
            && redis.run(Script.publication.rawValue, keys: FleetLink.keys(entry), [value, life, token], now: now) {
                _ in
            }
        if isSent { published += 1 } else { unpublished += 1 }
        return isSent
    }

    /// The lease of an entry, the members that wait for it, and itself.
    private static func keys(_ entry: String) -> [String] { [entry + ":l", entry + ":w", entry] }

    /// Other members' answers come to it.
    private var channel: String { "h1:m:" + String(decoding: token, as: UTF8.self) }

    // MARK: loop

    var nextDeadline: Instant? {
        guard isOn else { return nil }
        return Instant.earliest(redis.nextDeadline, fetches.nextDeadline)
    }

    func timePassed(now: Instant) {
        guard isOn else { return }
        redis.timePassed(now: now)
        take(redis.takeNews(), now: now)
        let (steps, timeouts) = fetches.timePassed(now: now)
        for _ in 0..<timeouts { redis.callTimedOut(now: now) }
        carryOut(steps, now: now)
        take(redis.takeNews(), now: now)
    }

    private func take(_ news: [RedisLink.News], now: Instant) {
        for event in news {
            switch event {
            case .switchedOn: readFlushes(now: now)
            case .switchedOff:
                (isCaughtUp, lastSeen) = (false, nil)
                carryOut(fetches.switchedOff(), now: now)
            case .message(FleetLink.flushChannel, _): readFlushes(now: now)
            case .message(_, let bytes): hear(bytes, now: now)
            }
        }
    }

    /// An entry, and if it was published, its life in milliseconds and its value. Otherwise `one` or `all`: its lease
    /// was given back.
    private func hear(_ message: [UInt8], now: Instant) {
        let parts = message.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count > 1 else { return }
        let (entry, word) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
        guard let id = fetches.waiting(for: entry), let request = requests[id] else {
            // Another one that waits gets the lease.
            if word == FleetLink.one { release(Unpublished(entry: entry, tellsAll: false), now: now) }
            return
        }
        if parts.count == 3, let left = Int64(word),
            let shared = shared(Array(parts[2]), request.question, entry: entry)
        {
            carryOut(fetches.published(entry, shared, left: .milliseconds(left)), now: now)
        } else {
            carryOut(fetches.released(entry, asksAtOnce: word == FleetLink.all), now: now)
        }
    }
}

extension SharedAnswer {
    /// The answer with the time that is left to it. A TTL of 0 would keep it out of the cache.
    fileprivate func answer(left: Duration) -> Answer {
        answer.withTTL(to: UInt32(clamping: max(1, left.wholeSeconds)))
    }
}
