// Sends addresses of names with `nftset` to the helper, which alone may change the kernel's sets. Answers never wait:
// their addresses are noted here, and sent in a later turn of the loop. A cache hit does nothing: its addresses were
// sent when they were cached, and are sent again when the helper reports that sets may lack them.

import DNSWire
import LinuxIO
import Resolver
import Serving
import SetFeed

/// Without a rule with `nftset`, the sets do nothing.
final class AddressSets: TimedPart {
    let timer = PartTimer()

    private static let firstPause: Duration = .milliseconds(100)
    private static let longestPause: Duration = .seconds(10)
    /// Minimum TTL: a client must be able to use an address even if its TTL is 0.
    private static let leastSeconds: UInt32 = 2
    /// Pieces of the walk through the cache in one turn of the loop: about 100 µs.
    private static let piecesAtOnce = 8

    private let loop: EventLoop
    private let outbox: Outbox
    private var rules = RuleTable([])
    private var cache: AnswerCache?
    private var path = ""
    private var elements = SetElements() { didSet { timer.changed() } }
    /// Whether a rule wants a set. A value, because each answer reads it.
    private(set) var isOn = false
    private var connection: PacketSocket? { didSet { timer.changed() } }
    private var registration: EventLoop.Registration?
    /// When to connect; only without a connection.
    private var nextAttempt: Instant? { didSet { timer.changed() } }
    private var pause = AddressSets.firstPause
    /// The helper has answered on this connection.
    private var hasAnswered = false
    /// Where the walk through the cache continues; nil: there is none.
    private var walk: AnswerCache.Cursor? { didSet { timer.changed() } }
    private(set) var refills: UInt64 = 0
    /// Why the helper is not reached; nil: it is.
    private(set) var helperFault: String?
    /// The states that were logged last.
    private var loggedStates: [AddressSet: SetState] = [:]
    private var loggedReasons: [AddressSet: String] = [:]

    init(loop: EventLoop, outbox: Outbox) { (self.loop, self.outbox) = (loop, outbox) }

    var sets: [AddressSet] { elements.sets }
    var counts: SetElements.Counts { elements.counts }
    var waitingCount: Int { elements.waitingCount }

    /// Why the set gets no addresses; nil: it gets them, or its state is not known yet.
    func fault(of set: AddressSet) -> String? {
        if let helperFault { return "httpdnsd-nftset can't be reached at \(path): \(helperFault)" }
        return elements.fault(of: set)
    }

    func isReady(_ set: AddressSet) -> Bool { elements.state(of: set)?.isReady ?? false }

    func configure(_ rules: RuleTable, _ cache: AnswerCache, socket: String, now: Instant) {
        let isOther = rules.addressSets != self.rules.addressSets || socket != path
        (self.rules, self.cache, path) = (rules, cache, socket)
        guard isOther else { return refill() }
        disconnect()
        elements.configure(rules.addressSets)
        isOn = !elements.sets.isEmpty
        loggedStates = loggedStates.filter { elements.sets.contains($0.key) }
        loggedReasons = [:]
        (helperFault, pause, nextAttempt) = (nil, AddressSets.firstPause, isOn ? now : nil)
    }

    /// Sends the addresses of cached answers that the sets may lack.
    func refill() {
        guard isOn else { return }
        walk = AnswerCache.Cursor()
    }

    // MARK: answers

    /// - Parameter isCached: clients get the answer from the cache with a decreasing TTL. Otherwise each reply has the
    ///   same TTL again, so the element gets twice as long, and is prolonged once in this time.
    func take(_ question: Question, _ answer: Answer, isCached: Bool, now: Instant) {
        guard isOn, question.type.isAddress else { return }
        take(question, answer.records, isCached: isCached, since: now, now: now)
    }

    /// Takes an expired answer.
    func take(_ question: Question, _ answer: RenderedAnswer, now: Instant) {
        guard isOn, question.type.isAddress, let records = try? answer.records(of: question) else { return }
        take(question, records, isCached: false, since: now, now: now)
    }

    /// Takes a cached answer that was changed.
    func take(_ question: Question, _ answer: Answer, storedAtMilliseconds: Int64, now: Instant) {
        guard isOn, question.type.isAddress else { return }
        let age = Clock.millisecondsSinceBoot(now) - storedAtMilliseconds
        take(question, answer.records, isCached: true, since: now - .milliseconds(age), now: now)
    }

    private func take(
        _ question: Question, _ records: [ResourceRecord], isCached: Bool, since: Instant, now: Instant
    ) {
        let targets = rules.addressSets(for: question.name)
        guard !targets.isEmpty else { return }
        for record in records {
            // A block may have 0.0.0.0 and ::.
            guard let address = record.address, !address.isUnspecified else { continue }
            let life = Duration.seconds(max(record.ttlSeconds, AddressSets.leastSeconds))
            let needed = since + life
            guard needed > now else { continue }
            for target in targets {
                elements.add(address, to: target, needed: needed, until: isCached ? needed : needed + life, now: now)
            }
        }
    }

    private func take(_ entry: CachedEntry, now: Instant) {
        let age = Clock.millisecondsSinceBoot(now) - entry.storedAtMilliseconds
        guard age < Int64(entry.lifetimeSeconds) * 1000, let records = try? entry.answer.records(of: entry.question)
        else { return }
        take(entry.question, records, isCached: true, since: now - .milliseconds(age), now: now)
    }

    // MARK: loop

    var nextDeadline: Instant? {
        guard isOn else { return nil }
        guard connection != nil else { return nextAttempt }
        let isBusy = elements.hasRequest || mayWalk
        return isBusy ? .atOnce : elements.nextDeadline
    }

    func timePassed(now: Instant) {
        guard isOn else { return }
        if connection == nil, let nextAttempt, nextAttempt <= now { connect(now: now) }
        guard connection != nil else { return }
        if let due = elements.answerDueAt, due <= now {
            return lose("it does not answer", now: now)
        }
        elements.timePassed(now: now)
        if mayWalk { continueWalk(now: now) }
        send(now: now)
    }

    /// Whether the walk through the cache may continue; it leaves room for new answers.
    private var mayWalk: Bool { walk != nil && isAnySetReady && elements.waitingCount < SetElements.maxWaiting / 2 }

    private var isAnySetReady: Bool { elements.sets.contains(where: isReady) }

    private func continueWalk(now: Instant) {
        guard let cache else { return }
        for _ in 0..<AddressSets.piecesAtOnce {
            guard let cursor = walk else { return }
            let (entries, next) = cache.walkAddresses(from: cursor) { !rules.addressSets(for: $0).isEmpty }
            for entry in entries { take(entry, now: now) }
            walk = next
            if next == nil { refills += 1 }
        }
    }

    private func send(now: Instant) {
        guard let connection, let request = elements.takeRequest(now: now) else { return }
        do throws(SystemError) {
            if try !connection.send(request.bytes) { lose("it does not read", now: now) }
        } catch {
            lose("\(error)", now: now)
        }
    }

    // MARK: helper

    private func connect(now: Instant) {
        do throws(SystemError) {
            let connection = try PacketSocket(connectingTo: path)
            registration = try loop.watch(connection.descriptor.raw, for: .readable) { [unowned self] _ in
                receive(now: Clock.now())
            }
            self.connection = connection
            elements.forget()
            hasAnswered = false
            nextAttempt = nil
        } catch {
            lose("\(error)", now: now)
        }
    }

    private func receive(now: Instant) {
        while let connection {
            do throws(SystemError) {
                switch try connection.receive(maxBytes: SetReply.maxBytes) {
                case .nothing: return
                case .ended: return lose("it has closed the connection", now: now)
                case .message(let bytes):
                    guard let reply = SetReply(bytes) else { return lose("its reply is malformed", now: now) }
                    take(reply, now: now)
                }
            } catch {
                return lose("\(error)", now: now)
            }
        }
    }

    private func take(_ reply: SetReply, now: Instant) {
        if !hasAnswered {
            hasAnswered = true
            pause = AddressSets.firstPause
            if helperFault != nil { outbox.log(.setHelperWorks) }
            helperFault = nil
        }
        switch reply {
        case .rulesetChanged: elements.forget()
        case .done(let number, let state, let refusal):
            if let refusal, let set = elements.setOfRequest(number), loggedReasons[set] != refusal.reason {
                loggedReasons[set] = refusal.reason
                outbox.log(.elementsRefused(set, reason: refusal.reason))
            }
            guard let set = elements.answered(number, state, refused: refusal?.places ?? [], now: now) else { return }
            // A set that is new, or was deleted and created again, lacks the addresses of cached answers.
            if state.isReady { refill() }
            guard loggedStates[set] != state else { return }
            loggedStates[set] = state
            if case .ready(let type) = state { outbox.log(.setReady(set, type)) }
            if let fault = elements.fault(of: set) { outbox.log(.setFaulty(set, fault: fault)) }
        }
    }

    private func lose(_ reason: String, now: Instant) {
        disconnect()
        elements.forget()
        nextAttempt = now + pause
        pause = min(pause * 2, AddressSets.longestPause)
        // A helper that ends and is started again at once is no news.
        if helperFault == nil, hasAnswered, pause < .seconds(1) { return }
        if helperFault == nil { outbox.log(.setHelperGone(socket: path, reason: reason)) }
        helperFault = reason
    }

    private func disconnect() {
        if let registration { loop.unwatch(registration) }
        (registration, connection) = (nil, nil)
    }
}
