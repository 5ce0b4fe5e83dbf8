// One member of a fleet: which calls it makes to Redis, what it believes of the replies, and what follows for its
// requests. Does no I/O: the caller carries out `takeCalls` and `takeOutcomes` after each call, and reports replies.

import Crypto
package import DNSWire

package struct Membership: Sendable {
    package typealias ID = SharedFetches.ID
    /// The caller's number of an order to flush.
    package typealias FlushOrderID = UInt64

    package struct Terms: Equatable, Sendable {
        package let keys: FleetKeys
        /// Members that see the Internet from one place, such as "sh-a".
        package let site: String
        /// Name of this machine.
        package let member: String
        /// How long a request waits for a reply.
        package let readTimeout: Duration
        package let share: Set<SharedKind>

        package init(
            keys: FleetKeys, site: String, member: String, readTimeout: Duration = .milliseconds(5),
            share: Set<SharedKind> = Set(SharedKind.allCases)
        ) {
            (self.keys, self.site, self.member) = (keys, site, member)
            (self.readTimeout, self.share) = (readTimeout, share)
        }
    }

    /// A request that the resolver wants to be made.
    package struct Fetch: Sendable {
        package let question: Question
        package let provider: SharedProvider
        /// The answer may be shared.
        package var isShareable = true
        /// No other upstream has an answer: it is made although the budget is used up.
        package var isLastResort = false
        /// A client waits.
        package var isForClient = true
        /// What is left of the cached answer that a refresh replaces; nil: there is none.
        package var life: Duration?
        /// Queries per second of this member; nil: not known.
        package var perSecond: Double?
        /// The rules that the answer has to satisfy, as in `EntryTerms`.
        package var rules: String?

        package init(_ question: Question, at provider: SharedProvider) {
            (self.question, self.provider) = (question, provider)
        }
    }

    /// What follows for the member.
    package enum Outcome: Equatable, Sendable {
        /// The provider is to be asked.
        case ask(ID)
        /// The budget of the fleet is used up until then: the request has ended, and is not made.
        case deferred(ID, until: Instant)
        /// Another member's answer. The request has ended.
        case answered(ID, Answer)
        /// Another member's answer that came after the provider was asked.
        case late(ID, Answer)
        /// Queries per second that the other members have for the question.
        case demandElsewhere(Question, perSecond: Double)
        /// The fleet has flushed these answers.
        case flush(QuestionScope)
        /// For `restore` after the next start.
        case note(FleetNote, String)
        /// Another member has found this address to be none of the name's.
        case evidence(SharedEvidence)
        /// The sum of an account's questions in all members has changed.
        case billed(account: String)
        /// What became of an order to flush; nil: Redis has it.
        case flushOrdered(FlushOrderID, fault: String?)
    }

    /// An entry for which this member was asking a provider, maybe with the lease. It was not published.
    private struct Unpublished {
        let entry: String
        /// All that wait for it are told; otherwise one, which gets the next lease.
        let tellsAll: Bool
    }

    /// More than any answer's TTL.
    private static let anyAge: Duration = .seconds(1 << 32)
    /// Of the time that this member knows between replies.
    private static let clockError: Duration = .milliseconds(100)
    /// Queries per second for one question; anything above is no reason to refresh it sooner.
    private static let mostDemand = 10_000.0
    /// An answer that ends sooner is not worth sharing.
    private static let leastLife: Duration = .milliseconds(500)
    /// What a release tells: one of those that wait, which gets the next lease; or all, which ask at once.
    static let (one, all) = ("one", "all")
    /// Why a command fails without [fleet].
    package static let noFleet = "there is no fleet; add [fleet] to the settings"
    private static let lostOrder =
        "Redis was lost before it replied; other machines may have been flushed: run the command again"
    /// The name of a stream, and of the channel that tells of its news.
    package static let flushStream = "h1:f"
    package static let evidenceChannel = "h1:v"

    var terms: Terms?
    /// Names this process in leases.
    let token: [UInt8]
    private var isInUse = false
    /// That is used, or was used last.
    private var server = ""
    private var fetches = SharedFetches(readTimeout: .milliseconds(5))
    /// By the numbers of their fetches.
    private var requests: [ID: Fetch] = [:]
    private var clock = RedisClock()
    private var log = FlushLog()
    private var asked = AskedQuestions()
    private var paces: [String: Pace] = [:]
    private var bills = SharedBills()
    private var evidenceLimit = EvidenceLimit()
    private var ended: [Unpublished] = []
    /// Orders to flush that Redis has not replied to.
    private var openOrders: [FlushOrderID] = []
    var calls: [FleetCall] = []
    private var outcomes: [Outcome] = []
    /// How many members there are, as far as Redis told, also before the start.
    package private(set) var size = 1
    /// It shrinks not before this: a Redis that has lost its data gets to know the members one by one.
    private var shrinksAt: Instant?
    /// The size in the last note.
    private var notedSize = 1
    private var presenceAt: Instant?
    package private(set) var published: UInt64 = 0
    /// Answers that were not published, because Redis was not in use, did not read, or refused them.
    package private(set) var unpublished: UInt64 = 0
    package private(set) var refusals: [Refusal: UInt64] = [:]

    /// - Parameter token: random text, another one for each process.
    package init(token: String) { self.token = Array(token.utf8) }

    package var counts: SharedFetches.Counts { fetches.counts }
    package var isOn: Bool { terms != nil }
    package var hasOutcomes: Bool { !outcomes.isEmpty }
    /// Other members' answers come to it.
    package var channel: String { "h1:m:" + String(decoding: token, as: UTF8.self) }
    /// All channels that it listens to.
    package var channels: [String] { [channel, Membership.flushStream, Membership.evidenceChannel] }

    package mutating func takeCalls() -> [FleetCall] {
        defer { calls = [] }
        return calls
    }

    package mutating func takeOutcomes() -> [Outcome] {
        defer { outcomes.removeAll(keepingCapacity: true) }
        return outcomes
    }

    /// - Parameter terms: nil: nothing is shared.
    package mutating func configure(_ terms: Terms?, now: Instant) {
        guard terms != self.terms else { return }
        carryOut(fetches.switchedOff(), now: now)
        self.terms = terms
        if let terms {
            fetches.readTimeout = terms.readTimeout
            log.start(now: now)
        }
        if isInUse { readFlushes() }
    }

    /// Calls are of use from now on. What was published before may have been missed.
    ///
    /// - Parameter server: that is used.
    package mutating func switchedOn(_ server: String, now: Instant) {
        (isInUse, self.server) = (true, server)
        presenceAt = now
        shrinksAt = now + Membership.presenceLife
        readFlushes()
    }

    /// No request may wait for Redis.
    package mutating func switchedOff(now: Instant) {
        isInUse = false
        presenceAt = nil
        log.switchedOff()
        bills.switchedOff()
        for order in openOrders { outcomes.append(.flushOrdered(order, fault: Membership.lostOrder)) }
        openOrders = []
        carryOut(fetches.switchedOff(), now: now)
    }

    // MARK: fetches

    /// Takes a request over if its answer may be shared, or its provider has a budget.
    ///
    /// - Returns: false if the provider is to be asked at once.
    package mutating func begin(_ id: ID, _ fetch: Fetch, now: Instant) -> Bool {
        guard let terms else { return false }
        let entries = fetch.isShareable && terms.share.contains(.answers) ? self.entries(fetch, terms) : []
        guard !entries.isEmpty || interval(fetch.provider) != nil else { return false }
        let fetchTerms = SharedFetches.Terms(
            entries: entries,
            lease: terms.share.contains(.leases) ? FleetScript.lease(usual95: fetch.provider.usual95) : .zero,
            leastLife: fetch.life.map { $0 + Membership.leastLife } ?? Membership.leastLife,
            patience: fetch.provider.timeout / 2)
        requests[id] = fetch
        carryOut([fetches.begin(id, fetchTerms, isInUse: isInUse, now: now)], now: now)
        return true
    }

    private func entries(_ fetch: Fetch, _ terms: Terms) -> [String] {
        let entryTerms = EntryTerms(
            fetch.question, site: terms.site, provider: fetch.provider.identity,
            clientSubnet: fetch.provider.clientSubnet, rules: fetch.rules)
        return (try? terms.keys.entries(entryTerms)) ?? []
    }

    package func question(of id: ID) -> Question? { requests[id]?.question }

    /// The resolver does not want the answer any more.
    package mutating func abandon(_ id: ID) { end(id, tellsAll: false) }

    /// The provider has failed.
    package mutating func failed(_ id: ID) { end(id, tellsAll: false) }

    /// The provider's answer is of no use for others: each has to ask.
    package mutating func gotUnshareable(_ id: ID) { end(id, tellsAll: true) }

    private mutating func end(_ id: ID, tellsAll: Bool) {
        guard requests.removeValue(forKey: id) != nil else { return }
        let entry = fetches.terms(of: id)?.entry
        if fetches.ended(id), let entry { ended.append(Unpublished(entry: entry, tellsAll: tellsAll)) }
    }

    /// The provider has answered: others get its answer.
    package mutating func answered(_ id: ID, _ answer: Answer, now: Instant) {
        guard let fetch = requests.removeValue(forKey: id) else { return }
        let entry = fetches.terms(of: id)?.entry
        guard fetches.ended(id), let entry else { return }
        asked.answered(fetch.question)
        if !publish(answer, fetch, as: entry, now: now) { ended.append(Unpublished(entry: entry, tellsAll: true)) }
    }

    /// A provider has answered a question that it was not asked in this fetch.
    package mutating func volunteered(_ answer: Answer, _ fetch: Fetch, now: Instant) {
        guard let terms, terms.share.contains(.answers), let entry = entries(fetch, terms).first else { return }
        _ = publish(answer, fetch, as: entry, now: now)
    }

    /// Gives back leases that have brought no answer.
    package mutating func releaseLeases() {
        for each in ended { release(each.entry, tellsAll: each.tellsAll) }
        ended = []
    }

    private mutating func release(_ entry: String, tellsAll: Bool) {
        let reader = Array((tellsAll ? Membership.all : Membership.one).utf8)
        calls.append(FleetCall(.release, keys: Membership.keys(entry), [token, reader], .order))
    }

    /// - Returns: false if others do not get it.
    private mutating func publish(_ answer: Answer, _ fetch: Fetch, as entry: String, now: Instant) -> Bool {
        guard let terms, isInUse, let time = clock.time(at: now) else {
            unpublished += 1
            return false
        }
        let shared = SharedAnswer(answer, from: fetch.provider.name, by: terms.member)
        guard let value = try? shared.bytes(fetch.question, entry: entry, at: time, terms.keys) else { return false }
        let life = Membership.number(UInt64(answer.ttlSeconds) * 1000)
        calls.append(FleetCall(.publication, keys: Membership.keys(entry), [value, life, token], .publication))
        return true
    }

    /// The lease of an entry, the members that wait for it, and itself.
    private static func keys(_ entry: String) -> [String] { [entry + ":l", entry + ":w", entry] }

    static func number(_ value: some BinaryInteger) -> [UInt8] { Array("\(value)".utf8) }

    // MARK: steps

    private mutating func carryOut(_ steps: [SharedFetches.Step], now: Instant) {
        for step in steps {
            switch step {
            case .call(let id): call(id, now: now)
            case .ask(let id): if requests[id] != nil { outcomes.append(.ask(id)) }
            case .askAlone(let id): askAlone(id, now: now)
            case .deferRequest(let id, let duration):
                if requests.removeValue(forKey: id) != nil { outcomes.append(.deferred(id, until: now + duration)) }
            case .give(let id, let shared, let left):
                guard let fetch = requests.removeValue(forKey: id) else { continue }
                outcomes.append(.answered(id, take(shared, left, fetch, now: now)))
            case .late(let id, let shared, let left):
                guard let fetch = requests[id] else { continue }
                outcomes.append(.late(id, take(shared, left, fetch, now: now)))
            }
        }
    }

    private mutating func call(_ id: ID, now: Instant) {
        guard let fetch = requests[id], let terms = fetches.terms(of: id) else { return }
        let interval = Membership.number(self.interval(fetch.provider)?.wholeMicroseconds ?? 0)
        let longest = Membership.number(fetch.isLastResort ? -1 : Pace.maxWait.wholeMicroseconds)
        let pace = paceKey(fetch.provider)
        guard let entry = terms.entry else {
            calls.append(FleetCall(.pace, keys: [pace], [interval, longest], .fetch(id)))
            return
        }
        let asks = asked.countQueries(
            fetch.question, perSecond: fetch.perSecond, isForClient: fetch.isForClient, now: now)
        let arguments = [
            token, Membership.number(terms.lease.wholeMilliseconds),
            Membership.number(terms.leastLife.wholeMilliseconds),
            Membership.number((log.age(of: fetch.question, now: now) ?? Membership.anyAge).wholeMilliseconds),
            Array(channel.utf8),
            Membership.number(Int(asks * 1000)), interval, longest,
        ]
        let keys = [entry + ":l", entry + ":w", entry + ":d", pace] + terms.entries
        calls.append(FleetCall(.lease, keys: keys, arguments, .fetch(id)))
    }

    private mutating func take(_ shared: SharedAnswer, _ left: Duration, _ fetch: Fetch, now: Instant) -> Answer {
        let age = max(.zero, .seconds(shared.answer.ttlSeconds) - left)
        asked.put(fetch.question, by: shared.member, at: now - age)
        // A TTL of 0 would keep it out of the cache.
        return shared.answer.withTTL(to: UInt32(clamping: max(1, left.wholeSeconds)))
    }

    /// Which member has asked a provider for the question's answer, and when; nil: this one, or none.
    package func origin(of question: Question) -> (member: String, at: Instant)? { asked.origin(of: question) }

    // MARK: budget

    /// The interval of requests of all members to the provider; nil: it has no budget that is shared.
    private func interval(_ provider: SharedProvider) -> Duration? {
        guard terms?.share.contains(.budget) ?? false else { return nil }
        return provider.questionsPerSecond.map { .seconds(1) / $0 }
    }

    /// Without a budget, the script does not use it.
    private func paceKey(_ provider: SharedProvider) -> String {
        guard interval(provider) != nil else { return "h1:b:" }
        return (try? terms?.keys.name("h1:b:", "budget", [Array(provider.account.utf8)])) ?? "h1:b:"
    }

    private mutating func askAlone(_ id: ID, now: Instant) {
        guard let fetch = requests[id] else { return }
        guard let interval = interval(fetch.provider).map({ $0 * size }) else { return outcomes.append(.ask(id)) }
        let account = fetch.provider.account
        switch paces[account, default: Pace()].take(
            interval: interval, isLastResort: fetch.isLastResort, now: now)
        {
        case .wait(.zero): outcomes.append(.ask(id))
        case .wait(let wait): fetches.delay(id, until: now + wait)
        case .deferred(let duration):
            fetches.deferred(id)
            requests[id] = nil
            outcomes.append(.deferred(id, until: now + duration))
        }
    }

    /// Redis's time; nil before its first reply.
    package func time(at now: Instant) -> RedisTime? { clock.time(at: now) }

    // MARK: billed questions

    /// Adds questions that this member has sent to an account.
    ///
    /// - Parameter account: provider, account and period.
    package mutating func bill(_ account: String, _ count: Int) {
        if terms?.share.contains(.budget) ?? false { bills.add(count, account) }
    }

    /// The questions of all members, as far as it is known; nil: nothing is.
    package func billed(_ account: String) -> Int? { bills.sum(account) }

    // MARK: flushes

    /// This member has flushed its answers: older ones are not used any more.
    package mutating func flushed(_ scope: QuestionScope, now: Instant) {
        if isOn { log.add(scope, now: now) }
    }

    /// Orders all members to flush: `Outcome.flushOrdered` tells whether Redis has the order.
    package mutating func orderFlush(_ scope: QuestionScope, _ id: FlushOrderID, now: Instant) {
        do throws(FlushFault) {
            calls.append(try flushCall(scope, id, now: now))
            openOrders.append(id)
        } catch {
            outcomes.append(.flushOrdered(id, fault: error.text))
        }
    }

    private struct FlushFault: Error { let text: String }

    private func flushCall(
        _ scope: QuestionScope, _ id: FlushOrderID, now: Instant
    ) throws(FlushFault) -> FleetCall {
        guard let terms else { throw FlushFault(text: Membership.noFleet) }
        guard terms.share.contains(.flush) else { throw FlushFault(text: "fleet.share has no \"flush\"") }
        guard let time = clock.time(at: now) else { throw FlushFault(text: "Redis has not told its time yet") }
        do throws(CryptoError) {
            let order = try FlushOrder(scope).bytes(at: time, terms.keys)
            return FleetCall(
                .flush, keys: [Membership.flushStream, Membership.flushStream], [order], .flushOrder(id))
        } catch {
            throw FlushFault(text: error.text)
        }
    }

    private mutating func endOrder(_ id: FlushOrderID, fault: String?) {
        guard let index = openOrders.firstIndex(of: id) else { return }
        openOrders.remove(at: index)
        outcomes.append(.flushOrdered(id, fault: fault))
    }

    /// The store was read, or cannot be.
    ///
    /// - Parameter notes: the last of each that `Outcome.note` had before the start.
    package mutating func restore(_ notes: [FleetNote: String]) {
        guard !log.isRestored else { return }
        log.restore(notes[.flushes])
        bills.restore(notes[.bills] ?? "")
        if let count = notes[.size].flatMap({ Int($0) }) { size = max(size, Membership.size(count)) }
        if isInUse { readFlushes() }
    }

    /// Whether the flushes are known.
    package var knowsFlushes: Bool { log.isCaughtUp || !(terms?.share.contains(.flush) ?? false) }

    private mutating func readFlushes() {
        guard log.isRestored, terms?.share.contains(.flush) ?? false else { return }
        let (first, isWhole) = log.next
        calls.append(
            FleetCall(.flushes, keys: [Membership.flushStream], [Array(first.utf8)], .flushes(isWhole: isWhole)))
    }

    private mutating func takeFlushes(_ elements: [FlushElement], isWhole: Bool, at time: RedisTime, now: Instant) {
        guard let terms else { return }
        let news = log.take(elements, of: server, isWhole: isWhole, at: time, terms.keys, now: now)
        for refusal in news.refusals { refusals[refusal, default: 0] += 1 }
        outcomes += news.scopes.map { .flush($0) }
        outcomes.append(.note(.flushes, news.note))
    }

    // MARK: evidence

    /// A probe of this member has found that the address is not the name's.
    package mutating func reportEvidence(_ evidence: SharedEvidence, now: Instant) {
        guard let terms, terms.share.contains(.evidence), isInUse, let time = clock.time(at: now),
            evidenceLimit.admit(evidence, now: now), let bytes = try? evidence.bytes(by: token, at: time, terms.keys)
        else { return }
        calls.append(FleetCall(.evidence, keys: [Membership.evidenceChannel], [bytes], .order))
    }

    private mutating func hearEvidence(_ bytes: [UInt8], now: Instant) {
        guard let terms, terms.share.contains(.evidence), let time = clock.time(at: now) else { return }
        do throws(Refusal) {
            let (evidence, member) = try SharedEvidence.read(bytes, now: time, terms.keys)
            guard member != token, evidenceLimit.admit(evidence, now: now) else { return }
            outcomes.append(.evidence(evidence))
        } catch {
            refusals[error, default: 0] += 1
        }
    }

    // MARK: members

    /// The interval of the sign of life that a member gives, and how long others count the member after one.
    private static let (presencePause, presenceLife): (Duration, Duration) = (.seconds(10), .seconds(30))
    private static let firstPause: Duration = .milliseconds(100)
    /// Whatever Redis says: with more, no member would have a share of a budget.
    private static let maxSize = 10_000
    private static let memberSet = "h1:n"
    private static let recordPrefix = "h1:n:"
    /// Of the members that are listed.
    package static let maxMembers = 1000

    /// The caller has to `announce` this member.
    package func isPresenceDue(_ now: Instant) -> Bool { presenceAt.map { $0 <= now } ?? false }

    /// - Parameter record: about this member, for `members`.
    package mutating func announce(_ record: [UInt8], now: Instant) {
        let time = clock.time(at: now)
        // Before the first reply, Redis's time is not known, and the record is empty.
        presenceAt = now + (time == nil ? Membership.firstPause : Membership.presencePause)
        guard let terms else { return }
        let place = Membership.recordPrefix + String(decoding: token, as: UTF8.self)
        let sealed = time.flatMap { try? terms.keys.seal(record, .member, place: place, at: $0) } ?? []
        let life = Membership.number(Membership.presenceLife.wholeMilliseconds)
        calls.append(FleetCall(.presence, keys: [Membership.memberSet, place], [token, sealed, life], .presence))
        noteNumbers()
        for (account, count, sum) in bills.takePending() {
            guard let key = try? terms.keys.name("h1:q:", "billing", [Array(account.utf8)]) else { continue }
            calls.append(
                FleetCall(
                    .billing, keys: [key],
                    [count, sum, SharedBills.life.wholeMilliseconds].map { Membership.number($0) },
                    .billing(account: account, count: count)))
        }
    }

    private static func size(_ count: Int) -> Int { min(max(1, count), maxSize) }

    private mutating func takeSize(_ count: Int, now: Instant) {
        let mayShrink = shrinksAt.map { $0 <= now } ?? true
        if count > size || mayShrink { size = count }
    }

    /// Earlier, the notes of the store would be lost.
    private mutating func noteNumbers() {
        guard log.isRestored else { return }
        if size != notedSize { outcomes.append(.note(.size, "\(size)")) }
        notedSize = size
        if let note = bills.takeNote() { outcomes.append(.note(.bills, note)) }
    }

    /// Asks Redis for the members; `records` reads the reply.
    package mutating func askForMembers() {
        let life = Membership.number(Membership.presenceLife.wholeMilliseconds)
        calls.append(
            FleetCall(
                .members, keys: [Membership.memberSet],
                [Membership.number(Membership.maxMembers), life, Array(Membership.recordPrefix.utf8)], .members))
    }

    /// What a member has told of itself.
    package struct MemberRecord: Equatable, Sendable {
        package let record: [UInt8]
        package let age: Duration
        package let isThis: Bool
    }

    /// The authentic records of a reply to `askForMembers`.
    package mutating func records(in reply: FleetReply) -> [MemberRecord] {
        guard let terms, case .members(let now, let members) = reply else { return [] }
        return members.records.prefix(Membership.maxMembers).compactMap { token, record in
            let place = Membership.recordPrefix + String(decoding: token, as: UTF8.self)
            do throws(Refusal) {
                let (plain, time) = try terms.keys.open(record, .member, place: place)
                guard now - time <= Membership.presenceLife else { throw .outdated }
                return MemberRecord(record: plain, age: max(.zero, now - time), isThis: token == self.token)
            } catch {
                // A member that has just begun knows no time yet.
                if !record.isEmpty { refusals[error, default: 0] += 1 }
                return nil
            }
        }
    }

    // MARK: replies

    /// Handles a call that was not sent, or that Redis has refused.
    package mutating func callFailed(_ call: FleetCall, now: Instant) {
        switch call.purpose {
        case .fetch(let id): carryOut(fetches.replied(id, .invalid, now: now), now: now)
        case .publication: unpublished += 1
        case .billing(let account, _): bills.restorePending(account)
        case .flushOrder(let id): endOrder(id, fault: "Redis is not used, or does not read; run the command again")
        case .flushes, .presence, .members, .order: break
        }
    }

    /// - Parameters:
    ///   - sentAt: when the call was sent.
    ///   - now: when the reply came.
    package mutating func replied(to call: FleetCall, _ reply: FleetReply, sentAt: Instant, now: Instant) {
        if let time = reply.time { clock.set(time, sentAt: sentAt, now: now) }
        switch (call.purpose, reply) {
        case (.fetch(let id), _): takeReply(reply, to: id, call, now: now)
        case (.flushes(let isWhole), .flushes(let time, let elements)):
            takeFlushes(elements, isWhole: isWhole, at: time, now: now)
        case (.presence, .presence(_, let count)): takeSize(Membership.size(count), now: now)
        case (.billing(let account, let count), .billing(_, let sum)):
            bills.acknowledged(count, account, sum: sum)
            outcomes.append(.billed(account: account))
        case (.publication, .done): published += 1
        case (.flushOrder(let id), .done): endOrder(id, fault: nil)
        case (.flushOrder(let id), .invalid(let reason)):
            endOrder(id, fault: "Redis has refused the order: \(reason)")
        case (.publication, _), (.billing, _), (.flushOrder, _): callFailed(call, now: now)
        case (.flushes, _), (.presence, _), (.members, _), (.order, _): break
        }
    }

    private mutating func takeReply(_ reply: FleetReply, to id: ID, _ call: FleetCall, now: Instant) {
        guard let fetch = requests[id], let fetchTerms = fetches.terms(of: id) else {
            // The request has ended before the reply came. A lease without use would make others wait.
            if case .ours = reply, call.script == .lease { release(call.keys[4], tellsAll: false) }
            return
        }
        if let demand = reply.demand, call.script == .lease {
            let sum = min(max(0, Double(demand) / 1_000_000), Membership.mostDemand)
            let elsewhere = max(0, sum - (fetch.perSecond ?? 0))
            if asked.updateDemandElsewhere(fetch.question, demandElsewhere: elsewhere) {
                outcomes.append(.demandElsewhere(fetch.question, perSecond: elsewhere))
            }
        }
        carryOut(fetches.replied(id, meaning(of: reply, id, fetch, fetchTerms, now: now), now: now), now: now)
    }

    private mutating func meaning(
        of reply: FleetReply, _ id: ID, _ fetch: Fetch, _ fetchTerms: SharedFetches.Terms, now: Instant
    ) -> SharedFetches.Reply {
        switch reply {
        case .value(_, _, let key, let value, let left):
            guard fetchTerms.entries.indices.contains(key - 1),
                let shared = shared(
                    value, fetch.question, entry: fetchTerms.entries[key - 1], left: left,
                    leastLife: fetchTerms.leastLife, now: now)
            else { return .invalid }
            return .answer(shared.answer, left: shared.left)
        case .ours(_, _, let wait):
            // A request that was made without a reply has been counted.
            if let interval = interval(fetch.provider), !fetches.isAsking(id) {
                paces[fetch.provider.account, default: Pace()].granted(interval: interval * size, after: wait, now: now)
            }
            return .ours(after: min(max(.zero, wait), Pace.maxWait))
        case .theirs(_, _, let left): return .theirs(left: left)
        // A request of last resort is made in any case.
        case .deferred(_, _, let duration) where !fetch.isLastResort && interval(fetch.provider) != nil:
            return .deferred(min(max(.zero, duration), .seconds(1)))
        case .deferred, .flushes, .presence, .members, .billing, .done, .invalid: return .invalid
        }
    }

    /// Opens a value. Whatever Redis says of it, it has to live for some time, and to be younger than the last flush.
    ///
    /// - Parameter left: as Redis says.
    private mutating func shared(
        _ value: [UInt8], _ question: Question, entry: String, left: Duration, leastLife: Duration, now: Instant
    ) -> (answer: SharedAnswer, left: Duration)? {
        guard let terms, let time = clock.time(at: now) else { return nil }
        do throws(Refusal) {
            let (answer, ownLeft) = try SharedAnswer.read(value, question, entry: entry, now: time, terms.keys)
            let (age, left) = (.seconds(answer.answer.ttlSeconds) - ownLeft, min(left, ownLeft))
            guard left >= leastLife - Membership.clockError,
                age <= (log.age(of: question, now: now) ?? Membership.anyAge) + Membership.clockError
            else { throw .outdated }
            return (answer, left)
        } catch {
            refusals[error, default: 0] += 1
            return nil
        }
    }

    // MARK: messages

    /// A message came on one of `channels`.
    package mutating func heard(_ message: [UInt8], on channel: String, now: Instant) {
        switch channel {
        case Membership.flushStream: readFlushes()
        case Membership.evidenceChannel: hearEvidence(message, now: now)
        default: hear(message, now: now)
        }
    }

    /// Parses "ENTRY MILLISECONDS VALUE", an answer and its life; or "ENTRY one" or "ENTRY all": its lease was given
    /// back.
    private mutating func hear(_ message: [UInt8], now: Instant) {
        let parts = message.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count > 1 else { return }
        let (entry, word) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
        guard let id = fetches.waiting(for: entry), let fetch = requests[id] else {
            // Another one that waits gets the lease.
            if word == Membership.one, FleetKeys.isEntry(entry) { release(entry, tellsAll: false) }
            return
        }
        if parts.count == 2 {
            return carryOut(fetches.released(entry, asksAtOnce: word == Membership.all), now: now)
        }
        // However short it lives: the provider has just told it.
        guard let left = Int64(word),
            let shared = shared(
                Array(parts[2]), fetch.question, entry: entry, left: .milliseconds(left), leastLife: .zero, now: now)
        else { return }
        carryOut(fetches.published(entry, shared.answer, left: shared.left), now: now)
    }

    // MARK: time

    package var nextDeadline: Instant? {
        isOn || !requests.isEmpty ? Instant.earliest(fetches.nextDeadline, presenceAt) : nil
    }

    /// - Returns: for `CircuitBreaker`, how many calls have had no reply in time.
    package mutating func timePassed(now: Instant) -> Int {
        let (steps, timeouts) = fetches.timePassed(now: now)
        carryOut(steps, now: now)
        return timeouts
    }
}
