// One member of a fleet: which calls it makes to Redis, which replies it accepts, and what follows for its
// requests. Does no I/O: the caller carries out `takeCalls` and `takeOutcomes` after each call, and reports replies.

import Crypto
package import DNSWire

package struct Membership: Sendable {
    package typealias ID = SharedFetches.ID

    /// A fetch that has not ended.
    private struct Request {
        let fetch: Fetch
        /// When the provider was asked; nil: the request waits for other members, or for its turn.
        var askedAt: Instant?
        /// The turn within the budget that the request has to wait for.
        var turn: Turn?
    }

    private enum Turn {
        /// A turn in this member's share.
        case own(Instant)
        /// A turn of the fleet, in microseconds by the clock of Redis.
        case ofFleet(Int64)
    }

    /// An entry for which this member was asking a provider, maybe with the lease, and whose answer it did not publish.
    private struct Unpublished {
        let entry: String
        /// All waiting members are told; otherwise one, which gets the next lease.
        let tellsAll: Bool
    }

    /// The greatest age if the question was not flushed: more than any answer's TTL.
    private static let anyAge: Duration = .seconds(1 << 32)
    /// The upper bound of the error of Redis's time between two of its replies.
    private static let clockError: Duration = .milliseconds(100)
    /// Queries per second for one question; more is no reason to refresh the question sooner.
    private static let mostDemand = 10_000.0
    /// An answer that ends sooner than this is not worth sharing.
    private static let leastLife: Duration = .milliseconds(500)
    /// Which waiting members a release tells: one, which gets the next lease; or all, which ask at once.
    static let (one, all) = ("one", "all")
    /// Why a command fails without [fleet].
    package static let noFleet = "there is no fleet; add [fleet] to the settings"
    private static let lostOrder =
        "Redis was lost before it replied; other machines may have been flushed: run the command again"
    /// Ends of names in Redis: of the stream and its channel for news, and of the channel for evidence.
    static let (flushStream, evidenceChannel) = ("f", "v")

    var configuration: FleetConfiguration?
    /// Names this process in leases.
    let token: [UInt8]
    private var isInUse = false
    /// The Redis server in use, or the last one that was in use.
    private var server = ""
    private var fetches = SharedFetches(readTimeout: .milliseconds(5))
    /// The requests by the numbers of their fetches.
    private var requests: [ID: Request] = [:]
    private var clock = RedisClock()
    private var log = FlushLog()
    private var asked = AskedQuestions()
    private var paces: [String: Pace] = [:]
    private var bills = SharedBills()
    private var evidenceLimit = EvidenceLimit()
    private var ended: [Unpublished] = []
    /// Orders to flush that Redis has not replied to.
    private var openOrders: [FlushOrder.ID] = []
    var calls: [FleetCall] = []
    private var outcomes: [Outcome] = []
    private var presence = Presence()
    package private(set) var published: UInt64 = 0
    /// Answers that were not published, because Redis was not in use, did not read, or refused them.
    package private(set) var unpublished: UInt64 = 0
    package private(set) var refusals: [Refusal: UInt64] = [:]

    /// - Parameter token: random text, another one for each process.
    package init(token: String) { self.token = Array(token.utf8) }

    package var counts: SharedFetches.Counts { fetches.counts }
    package var isOn: Bool { configuration != nil }
    package var hasOutcomes: Bool { !outcomes.isEmpty }
    /// How many members there are, as far as Redis told, also before the start.
    package var size: Int { presence.size }
    /// The channel to which other members' answers come; "" without `configuration`.
    package var channel: String { name("m:" + String(decoding: token, as: UTF8.self)) }
    /// All channels that this member listens to.
    package var channels: [String] { [channel, name(Membership.flushStream), name(Membership.evidenceChannel)] }
    /// A key that may be written to find out whether Redis works.
    package var testKey: String { name("t") }

    private func name(_ end: String) -> String { configuration?.keys.name(end) ?? "" }

    package mutating func takeCalls() -> [FleetCall] { exchange(&calls, with: []) }

    package mutating func takeOutcomes() -> [Outcome] {
        defer { outcomes.removeAll(keepingCapacity: true) }
        return outcomes
    }

    /// - Parameter configuration: nil: nothing is shared.
    package mutating func configure(_ configuration: FleetConfiguration?, now: Instant) {
        guard configuration != self.configuration else { return }
        carryOut(fetches.switchedOff(), now: now)
        self.configuration = configuration
        if let configuration {
            fetches.readTimeout = configuration.readTimeout
            log.start(now: now)
        }
        if isInUse { readFlushes() }
    }

    /// Redis is in use from now on. Messages that were published before may have been missed.
    ///
    /// - Parameter server: the server that is in use.
    package mutating func switchedOn(_ server: String, now: Instant) {
        (isInUse, self.server) = (true, server)
        presence.switchedOn(now: now)
        readFlushes()
    }

    /// No request may wait for Redis.
    package mutating func switchedOff(now: Instant) {
        isInUse = false
        presence.switchedOff()
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
        guard let configuration else { return false }
        let entries =
            fetch.isShareable && configuration.share.contains(.answers) ? self.entries(fetch, configuration) : []
        guard !entries.isEmpty || interval(fetch.provider) != nil else { return false }
        let policy = FetchPolicy(
            entries: entries,
            lease: configuration.share.contains(.leases) ? FleetScript.lease(usual95: fetch.provider.usual95) : .zero,
            leastLife: fetch.life.map { $0 + Membership.leastLife } ?? Membership.leastLife,
            patience: fetch.provider.timeout / 2,
            turnWait: interval(fetch.provider) == nil ? .zero : fetch.longestTurnWait)
        requests[id] = Request(fetch: fetch)
        carryOut([fetches.begin(id, policy, isInUse: isInUse, now: now)], now: now)
        return true
    }

    private func entries(_ fetch: Fetch, _ configuration: FleetConfiguration) -> [String] {
        let entryTerms = EntryTerms(
            fetch.question, site: configuration.site, provider: fetch.provider.identity,
            clientSubnet: fetch.provider.clientSubnet, rules: fetch.rules)
        return (try? configuration.keys.entries(entryTerms)) ?? []
    }

    package func question(of id: ID) -> Question? { requests[id]?.fetch.question }

    /// The resolver does not want the answer any more.
    package mutating func abandon(_ id: ID) { end(id, tellsAll: false) }

    /// The provider has failed.
    package mutating func failed(_ id: ID) { end(id, tellsAll: false) }

    /// The provider's answer is of no use for others: each has to ask.
    package mutating func gotUnshareable(_ id: ID) { end(id, tellsAll: true) }

    private mutating func end(_ id: ID, tellsAll: Bool) {
        guard let request = requests.removeValue(forKey: id) else { return }
        giveBackTurn(of: request)
        let entry = fetches.policy(of: id)?.entry
        if fetches.ended(id), let entry { ended.append(Unpublished(entry: entry, tellsAll: tellsAll)) }
    }

    /// The provider has answered: others get its answer.
    package mutating func answered(_ id: ID, _ answer: Answer, now: Instant) {
        guard let request = requests.removeValue(forKey: id) else { return }
        let entry = fetches.policy(of: id)?.entry
        guard fetches.ended(id), let entry else { return }
        asked.answered(request.fetch.question)
        let isPublished = publish(answer, request.fetch, askedAt: request.askedAt ?? now, as: entry, now: now)
        if !isPublished { ended.append(Unpublished(entry: entry, tellsAll: true)) }
    }

    /// A provider has answered a question that it was not asked in this fetch.
    package mutating func volunteered(_ answer: Answer, _ fetch: Fetch, now: Instant) {
        guard let configuration, configuration.share.contains(.answers), let entry = entries(fetch, configuration).first
        else { return }
        // The request for another question may have begun that long ago.
        _ = publish(answer, fetch, askedAt: now - fetch.provider.timeout, as: entry, now: now)
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

    /// Sends the answer to Redis.
    ///
    /// - Returns: false if other members do not get it.
    private mutating func publish(
        _ answer: Answer, _ fetch: Fetch, askedAt: Instant, as entry: String, now: Instant
    ) -> Bool {
        guard let configuration, isInUse, let time = clock.time(at: now), let asked = clock.time(at: askedAt) else {
            unpublished += 1
            return false
        }
        let shared = SharedAnswer(answer, from: fetch.provider.name, by: configuration.member)
        guard let value = try? shared.bytes(fetch.question, entry: entry, asked: asked, at: time, configuration.keys)
        else { return false }
        let life = FleetCall.number(UInt64(answer.ttlSeconds) * 1000)
        calls.append(FleetCall(.publication, keys: Membership.keys(entry), [value, life, token], .publication))
        return true
    }

    /// Returns the keys of an entry: its lease, the members that wait for it, and the entry itself.
    private static func keys(_ entry: String) -> [String] { [entry + ":l", entry + ":w", entry] }

    // MARK: steps

    private mutating func carryOut(_ steps: [SharedFetches.Step], now: Instant) {
        for step in steps {
            switch step {
            case .call(let id): call(id, now: now)
            case .ask(let id): ask(id, now: now)
            case .askAlone(let id): askAlone(id, now: now)
            case .deferRequest(let id, let duration):
                if requests.removeValue(forKey: id) != nil { outcomes.append(.deferred(id, until: now + duration)) }
            case .give(let id, let shared, let left):
                guard let request = requests.removeValue(forKey: id) else { continue }
                outcomes.append(.answered(id, take(shared, left, request.fetch, now: now)))
            case .late(let id, let shared, let left):
                guard let request = requests[id] else { continue }
                outcomes.append(.late(id, take(shared, left, request.fetch, now: now)))
            }
        }
    }

    private mutating func ask(_ id: ID, now: Instant) {
        guard requests[id] != nil else { return }
        requests[id]?.askedAt = now
        outcomes.append(.ask(id))
    }

    private mutating func call(_ id: ID, now: Instant) {
        guard let fetch = requests[id]?.fetch, let policy = fetches.policy(of: id) else { return }
        let interval = FleetCall.number(self.interval(fetch.provider)?.wholeMicroseconds ?? 0)
        let longest = FleetCall.number(fetch.longestTurnWait.wholeMicroseconds)
        let paces = paceKeys(fetch.provider)
        guard let entry = policy.entry else {
            calls.append(FleetCall(.pace, keys: paces, [interval, longest], .fetch(id)))
            return
        }
        let asks = asked.countQueries(
            fetch.question, perSecond: fetch.perSecond, isForClient: fetch.isForClient, now: now)
        let arguments = [
            token, FleetCall.number(policy.lease.wholeMilliseconds),
            FleetCall.number(policy.leastLife.wholeMilliseconds),
            FleetCall.number((log.age(of: fetch.question, now: now) ?? Membership.anyAge).wholeMilliseconds),
            Array(channel.utf8), FleetCall.number(Int(asks * 1000)), interval, longest,
            Array(fetches.lostOwners(now: now).joined(separator: " ").utf8),
        ]
        let keys = [entry + ":l", entry + ":w", entry + ":d"] + paces + policy.entries
        calls.append(FleetCall(.lease, keys: keys, arguments, .fetch(id)))
    }

    private mutating func take(_ shared: SharedAnswer, _ left: Duration, _ fetch: Fetch, now: Instant) -> Answer {
        let age = max(.zero, .seconds(shared.answer.ttlSeconds) - left)
        asked.put(fetch.question, by: shared.member, at: now - age)
        // A TTL of 0 would keep the answer out of the cache.
        return shared.answer.withTTL(to: UInt32(clamping: max(1, left.wholeSeconds)))
    }

    /// Which member has asked a provider for the question's answer, and when; nil: this member, or none.
    package func origin(of question: Question) -> (member: String, at: Instant)? { asked.origin(of: question) }

    // MARK: budget

    /// The interval of requests of all members to the provider; nil: it has no shared budget.
    private func interval(_ provider: SharedProvider) -> Duration? {
        guard configuration?.share.contains(.budget) ?? false else { return nil }
        return provider.questionsPerSecond.map { .seconds(1) / $0 }
    }

    /// The keys of the provider's pace. The script does not use them without a budget.
    private func paceKeys(_ provider: SharedProvider) -> [String] {
        guard let keys = configuration?.keys else { return [] }
        guard interval(provider) != nil else { return keys.names("b:") }
        return (try? keys.names("b:", "budget", [Array(provider.account.utf8)])) ?? keys.names("b:")
    }

    private mutating func askAlone(_ id: ID, now: Instant) {
        guard let fetch = requests[id]?.fetch else { return }
        guard let interval = interval(fetch.provider).map({ $0 * size }) else { return ask(id, now: now) }
        let account = fetch.provider.account
        switch paces[account, default: Pace()].take(
            interval: interval, longest: fetch.longestTurnWait, now: now)
        {
        case .at(now): ask(id, now: now)
        case .at(let turn):
            requests[id]?.turn = .own(turn)
            fetches.delay(id, until: turn)
        case .deferred(let duration):
            fetches.deferred(id)
            requests[id] = nil
            outcomes.append(.deferred(id, until: now + duration))
        }
    }

    /// Gives back the turn of a request that is not made: another request can have it.
    private mutating func giveBackTurn(of request: Request) {
        guard request.askedAt == nil, let turn = request.turn, let interval = interval(request.fetch.provider) else {
            return
        }
        let ownInterval = interval * size
        switch turn {
        case .own(let instant):
            paces[request.fetch.provider.account]?.giveBack(instant, interval: ownInterval)
        case .ofFleet(let time):
            let arguments = [Int64(interval.wholeMicroseconds), time].map { FleetCall.number($0) }
            calls.append(FleetCall(.turnBack, keys: paceKeys(request.fetch.provider), arguments, .order))
        }
    }

    /// Redis's time; nil before its first reply.
    package func time(at now: Instant) -> RedisTime? { clock.time(at: now) }

    // MARK: billed questions

    /// Adds questions that this member has sent to an account.
    ///
    /// - Parameters:
    ///   - account: provider, account and period.
    ///   - own: all questions of this member in the period.
    package mutating func bill(_ account: String, _ count: Int, own: Int) {
        if configuration?.share.contains(.budget) ?? false { bills.add(count, account, own: own) }
    }

    /// Counts the questions of the account anew, from those that each member has counted itself.
    package mutating func recount(_ account: String, now: Instant) {
        bills.recount(account)
        tellBills(now: now)
    }

    private mutating func tellBills(now: Instant) {
        if isInUse, let configuration, let time = clock.time(at: now) {
            calls += bills.calls(at: time, configuration.keys)
        }
    }

    private mutating func takeBill(
        _ account: String, of call: FleetCall, isTaken: Bool, _ stored: [UInt8], now: Instant
    ) {
        guard let configuration else { return }
        let value = SharedBills.value(of: call)
        if isTaken {
            bills.taken(value, account)
        } else {
            let (mayTryAgain, refusal) = bills.differs(from: value, account, stored, configuration.keys)
            if let refusal { refusals[refusal, default: 0] += 1 }
            if mayTryAgain { tellBills(now: now) }
        }
        outcomes.append(.billed(account: account))
    }

    /// The questions of all members, as far as the sum is known; nil: unknown.
    package func billed(_ account: String) -> Int? { bills.sum(account) }

    // MARK: flushes

    /// This member has flushed its answers: older ones are not used any more.
    package mutating func flushed(_ scope: QuestionScope, now: Instant) {
        if isOn { log.add(scope, now: now) }
    }

    /// Orders all members to flush: `Outcome.flushOrdered` tells whether Redis has the order.
    package mutating func orderFlush(_ scope: QuestionScope, _ id: FlushOrder.ID, now: Instant) {
        do throws(FlushFault) {
            calls.append(try flushCall(scope, id, now: now))
            openOrders.append(id)
        } catch {
            outcomes.append(.flushOrdered(id, fault: error.text))
        }
    }

    private struct FlushFault: Error { let text: String }

    private func flushCall(
        _ scope: QuestionScope, _ id: FlushOrder.ID, now: Instant
    ) throws(FlushFault) -> FleetCall {
        guard let configuration else { throw FlushFault(text: Membership.noFleet) }
        guard configuration.share.contains(.flush) else { throw FlushFault(text: "fleet.share has no \"flush\"") }
        guard let time = clock.time(at: now) else { throw FlushFault(text: "Redis has not told its time yet") }
        do throws(CryptoError) {
            let order = try FlushOrder(scope).bytes(at: time, configuration.keys)
            return FleetCall(.flush, keys: configuration.keys.names(Membership.flushStream), [order], .flushOrder(id))
        } catch {
            throw FlushFault(text: error.text)
        }
    }

    private mutating func endOrder(_ id: FlushOrder.ID, fault: String?) {
        guard let index = openOrders.firstIndex(of: id) else { return }
        openOrders.remove(at: index)
        outcomes.append(.flushOrdered(id, fault: fault))
    }

    /// The store was read, or cannot be.
    ///
    /// - Parameter notes: the last note of each kind that `Outcome.note` had before the start.
    package mutating func restore(_ notes: [FleetNote: String]) {
        guard !log.isRestored else { return }
        log.restore(notes[.flushes])
        bills.restore(notes[.bills] ?? "")
        presence.restore(notes[.size])
        if isInUse { readFlushes() }
    }

    /// Whether the flushes are known.
    package var knowsFlushes: Bool { log.isCaughtUp || !(configuration?.share.contains(.flush) ?? false) }

    private mutating func readFlushes() {
        guard log.isRestored, configuration?.share.contains(.flush) ?? false else { return }
        let (first, isWhole) = log.next
        calls.append(
            FleetCall(.flushes, keys: [name(Membership.flushStream)], [Array(first.utf8)], .flushes(isWhole: isWhole)))
    }

    private mutating func takeFlushes(_ elements: [FlushElement], isWhole: Bool, at time: RedisTime, now: Instant) {
        guard let configuration else { return }
        let news = log.take(elements, of: server, isWhole: isWhole, at: time, configuration.keys, now: now)
        for refusal in news.refusals { refusals[refusal, default: 0] += 1 }
        outcomes += news.scopes.map { .flush($0) }
        outcomes.append(.note(.flushes, news.note))
    }

    // MARK: evidence

    /// A probe of this member has found that the address is not the name's.
    package mutating func reportEvidence(_ evidence: SharedEvidence, now: Instant) {
        guard let configuration, configuration.share.contains(.evidence), isInUse, let time = clock.time(at: now),
            evidenceLimit.admit(evidence, now: now),
            let bytes = try? evidence.bytes(by: token, at: time, configuration.keys)
        else { return }
        calls.append(FleetCall(.evidence, keys: configuration.keys.names(Membership.evidenceChannel), [bytes], .order))
    }

    private mutating func hearEvidence(_ bytes: [UInt8], now: Instant) {
        guard let configuration, configuration.share.contains(.evidence), let time = clock.time(at: now) else { return }
        do throws(Refusal) {
            let (evidence, member) = try SharedEvidence.read(bytes, now: time, configuration.keys)
            guard member != token, evidenceLimit.admit(evidence, now: now) else { return }
            outcomes.append(.evidence(evidence))
        } catch {
            refusals[error, default: 0] += 1
        }
    }

    // MARK: members

    /// Whether the caller has to `announce` this member.
    package func isPresenceDue(_ now: Instant) -> Bool { presence.dueAt.map { $0 <= now } ?? false }

    /// - Parameter record: the record about this member, for `records`.
    package mutating func announce(_ record: [UInt8], now: Instant) {
        guard let configuration else { return }
        calls.append(presence.call(record, by: token, at: clock.time(at: now), configuration.keys, now: now))
        // Notes before the restore would overwrite those of the store.
        if log.isRestored {
            if let note = presence.takeNote() { outcomes.append(.note(.size, note)) }
            if let note = bills.takeNote() { outcomes.append(.note(.bills, note)) }
        }
        tellBills(now: now)
    }

    /// Asks Redis for the members; `records` reads the reply.
    package mutating func askForMembers() {
        if let configuration { calls.append(Presence.call(for: configuration.keys)) }
    }

    /// The authentic records of a reply to `askForMembers`.
    package mutating func records(in reply: FleetReply) -> [MemberRecord] {
        guard let configuration, case .members(let now, let members) = reply else { return [] }
        let (records, refused) = Presence.records(of: members, token: token, at: now, configuration.keys)
        for refusal in refused { refusals[refusal, default: 0] += 1 }
        return records
    }

    // MARK: replies

    /// Handles a call that was not sent, or that Redis has refused.
    package mutating func callFailed(_ call: FleetCall, now: Instant) {
        switch call.purpose {
        case .fetch(let id): carryOut(fetches.replied(id, .invalid, now: now), now: now)
        case .publication: unpublished += 1
        case .billing(let account): bills.failed(SharedBills.value(of: call), account)
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
        case (.presence, .presence(_, let count)): presence.told(count, now: now)
        case (.billing(let account), .billing(_, let isTaken, let stored)):
            takeBill(account, of: call, isTaken: isTaken, stored, now: now)
        case (.publication, .done): published += 1
        case (.flushOrder(let id), .done): endOrder(id, fault: nil)
        case (.flushOrder(let id), .invalid(let reason)):
            endOrder(id, fault: "Redis has refused the order: \(reason)")
        case (.publication, _), (.billing, _), (.flushOrder, _): callFailed(call, now: now)
        case (.flushes, _), (.presence, _), (.members, _), (.order, _): break
        }
    }

    private mutating func takeReply(_ reply: FleetReply, to id: ID, _ call: FleetCall, now: Instant) {
        guard let fetch = requests[id]?.fetch, let policy = fetches.policy(of: id) else {
            return giveBack(reply, to: call)
        }
        if let demand = reply.demand, call.script == .lease {
            let sum = min(max(0, Double(demand) / 1_000_000), Membership.mostDemand)
            let elsewhere = max(0, sum - (fetch.perSecond ?? 0))
            if asked.updateDemandElsewhere(fetch.question, demandElsewhere: elsewhere) {
                outcomes.append(.demandElsewhere(fetch.question, perSecond: elsewhere))
            }
        }
        carryOut(fetches.replied(id, meaning(of: reply, id, fetch, policy, now: now), now: now), now: now)
    }

    /// Gives back what a request got after its end: a turn, and a lease that would make others wait.
    private mutating func giveBack(_ reply: FleetReply, to call: FleetCall) {
        guard case .ours(let time, _, let wait) = reply else { return }
        let paces = call.script == .pace ? call.keys : Array(call.keys[3..<3 + (call.keys.count - 3) / 2])
        let interval = call.arguments[call.script == .pace ? 0 : 6]
        if interval != FleetCall.number(0) {
            let turn = FleetCall.number(Membership.turn(time, min(max(.zero, wait), Pace.maxWaitOfLastResort)))
            calls.append(FleetCall(.turnBack, keys: paces, [interval, turn], .order))
        }
        if call.script == .lease { release(String(call.keys[0].dropLast(2)), tellsAll: false) }
    }

    /// Returns the time of a turn, in microseconds by the clock of Redis.
    private static func turn(_ time: RedisTime, _ wait: Duration) -> Int64 {
        time.milliseconds * 1000 + Int64(wait.wholeMicroseconds)
    }

    private mutating func meaning(
        of reply: FleetReply, _ id: ID, _ fetch: Fetch, _ policy: FetchPolicy, now: Instant
    ) -> SharedFetches.Reply {
        switch reply {
        case .value(_, _, let key, let value, let left):
            guard policy.entries.indices.contains(key - 1),
                let shared = shared(
                    value, fetch.question, entry: policy.entries[key - 1], left: left,
                    leastLife: policy.leastLife, now: now)
            else { return .invalid }
            return .answer(shared.answer, left: shared.left)
        case .ours(let time, _, let told):
            let wait = min(max(.zero, told), fetch.longestTurnWait)
            guard let interval = interval(fetch.provider) else { return .ours(after: wait) }
            // A request that was made without a reply has already been counted.
            if !fetches.isAsking(id) {
                paces[fetch.provider.account, default: Pace()].granted(interval: interval * size, after: wait, now: now)
            }
            requests[id]?.turn = .ofFleet(Membership.turn(time, wait))
            return .ours(after: wait)
        case .theirs(_, _, let left, let owner):
            return .theirs(left: left, owner: String(validating: owner, as: UTF8.self) ?? "")
        case .deferred(_, _, let duration) where interval(fetch.provider) != nil:
            return .deferred(min(max(.zero, duration), .seconds(1)))
        case .deferred, .flushes, .presence, .members, .billing, .done, .invalid: return .invalid
        }
    }

    /// Opens a value. Whatever Redis replies, the value has to live for `leastLife`, and to be younger than the last
    /// flush.
    ///
    /// - Parameter left: the remaining life by the reply of Redis.
    private mutating func shared(
        _ value: [UInt8], _ question: Question, entry: String, left: Duration, leastLife: Duration, now: Instant
    ) -> (answer: SharedAnswer, left: Duration)? {
        guard let configuration, let time = clock.time(at: now) else { return nil }
        do throws(Refusal) {
            let read = try SharedAnswer.read(value, question, entry: entry, now: time, configuration.keys)
            let left = min(left, read.left)
            guard left >= leastLife - Membership.clockError,
                read.age <= (log.age(of: question, now: now) ?? Membership.anyAge) + Membership.clockError
            else { throw .outdated }
            return (read.shared, left)
        } catch {
            refusals[error, default: 0] += 1
            return nil
        }
    }

    // MARK: messages

    /// A message has come on one of `channels`.
    package mutating func heard(_ message: [UInt8], on channel: String, now: Instant) {
        switch channel {
        case name(Membership.flushStream): readFlushes()
        case name(Membership.evidenceChannel): hearEvidence(message, now: now)
        default: hear(message, now: now)
        }
    }

    /// Parses "ENTRY MILLISECONDS VALUE", an answer and its life; or "ENTRY one" or "ENTRY all": the entry's lease was
    /// given back.
    private mutating func hear(_ message: [UInt8], now: Instant) {
        let parts = message.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count > 1 else { return }
        let (entry, word) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
        guard let id = fetches.awaiting(entry), let fetch = requests[id]?.fetch else {
            // Another waiting member gets the lease.
            if word == Membership.one, configuration?.keys.isEntry(entry) ?? false { release(entry, tellsAll: false) }
            return
        }
        if parts.count == 2 {
            return carryOut(fetches.released(entry, asksAtOnce: word == Membership.all), now: now)
        }
        // A short remaining life is enough: the provider has just given the answer.
        guard let left = Int64(word),
            let shared = shared(
                Array(parts[2]), fetch.question, entry: entry, left: .milliseconds(left), leastLife: .zero, now: now)
        else { return }
        carryOut(fetches.published(entry, shared.answer, left: shared.left), now: now)
    }

    // MARK: time

    package var nextDeadline: Instant? {
        isOn || !requests.isEmpty ? Instant.earliest(fetches.nextDeadline, presence.dueAt) : nil
    }

    /// - Returns: for `RedisBreaker`, how many calls have had no reply in time.
    package mutating func timePassed(now: Instant) -> Int {
        let (steps, timeouts) = fetches.timePassed(now: now)
        carryOut(steps, now: now)
        return timeouts
    }
}
