// What the day owes and what it has given: every reply against the truth, every expired answer and every failure
// against what the upstreams could have done, and the figures.

import DNSWire
import Resolver

struct DayAccount {
    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    enum GivenBy {
        case cache
        case upstream
        case expired(StaleCause)
    }

    enum Phase: String, CaseIterable {
        case allUp = "all up"
        case someDown = "some down"
        case allDown = "all down"
    }

    /// Milliseconds of the virtual clock.
    var now: Int64 = 0
    /// The part of it in which the machine slept.
    var asleep: Int64 = 0
    var awake: Int64 { now - asleep }
    private(set) var queries = 0
    private(set) var fromCache = 0
    private(set) var repeated = 0
    private(set) var repeatedThatWaited = 0
    private(set) var requests = 0
    /// Milliseconds, of those who waited.
    private(set) var waits: [Int64] = []
    private(set) var expired: [StaleCause: Int] = [:]
    private(set) var failures: [Phase: Int] = [:]
    /// Expired answers and failures given though an upstream would have answered in time: some of them in words.
    private(set) var needless: [String] = []
    /// Those without a lookup, because the question had failed shortly before, while an upstream worked again.
    private(set) var remembered: [String: Int] = [:]

    private let policy: Policy
    private var open: [Subject: Lookup] = [:]
    private var touched: [Subject] = []
    /// By the subject's number; invented names come once.
    private var lastAsked = [Int64](repeating: .min / 2, count: World.siteCount * 2)

    private struct Lookup {
        let startedAt: Int64
        let asleepBefore: Int64
        var running = 0
        /// By upstream: nil when it was not asked.
        var asked: [Asked?] = [nil, nil, nil]
    }

    private enum Asked {
        case wouldAnswer(at: Int64)
        case wouldFail
    }

    /// The stamp, the time for which an answer was held back, and its age in the cache are whole seconds each.
    private static let roundingMilliseconds: Int64 = 3000
    /// RFC 8767 section 5; beyond what the stub waits for, a reply is none.
    private static let longestWait: Int64 = 4500
    /// A question that comes again within ten minutes is in use.
    private static let repeatMilliseconds: Int64 = 600_000

    private static let mostComplaints = 20

    init(policy: Policy) {
        self.policy = policy
    }

    func broken(_ complaint: String) -> Broken { Broken(description: "at \(now) ms: \(complaint)") }

    func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
        if !condition { throw broken(complaint()) }
    }

    // MARK: questions

    mutating func asked(_ subject: Subject, isMissed: Bool) {
        queries += 1
        guard subject.kind == .site else { return }
        let since = now - lastAsked[subject.number]
        lastAsked[subject.number] = now
        guard since < DayAccount.repeatMilliseconds else { return }
        repeated += 1
        if isMissed { repeatedThatWaited += 1 }
    }

    mutating func waited(_ client: Day.Client) throws {
        let wait = awake - client.askedAwakeAt
        try require(wait <= DayAccount.longestWait, "a client waits for \(wait) ms")
        waits.append(wait)
    }

    // MARK: replies

    mutating func given(
        _ bytes: [UInt8], to packet: [UInt8], _ subject: Subject, _ source: GivenBy, in world: World
    ) throws {
        let questionBytes = packet.count - 12 - EDNS.emptyRecordBytes
        guard let reply = GivenReply(bytes, to: packet, questionBytes: questionBytes),
            let issued = reply.secondOfIssue, let ttl = reply.record?.ttlSeconds
        else { throw broken("\(subject): no reply, or not one that says when it was issued: \(bytes)") }
        try require(reply.code == (world.exists(subject) ? 0 : 3), "\(subject): code \(reply.code)")
        try require(reply.hasAnswer == world.isPositive(subject), "\(subject): records where there are none, or none")
        if reply.hasAnswer { try require(reply.mark == World.mark(of: subject), "\(subject) has another's address") }
        let age = now - issued * 1000
        let lifetime = Int64(world.lifetime(of: subject)) * 1000
        try require(age >= 0, "\(subject): an answer from the future")
        switch source {
        case .cache, .upstream:
            // 0: the system resolver stood in.
            try require(
                reply.extendedError.map { $0 == 0 } ?? true, "\(subject): a fresh answer with an extended error")
            // What a lookup gives without any TTL is for those who ask during it.
            if case .upstream = source, ttl == 0 { break }
            try require(
                age + Int64(ttl) * 1000 <= lifetime + DayAccount.roundingMilliseconds,
                "\(subject): \(age) ms after its issue for \(lifetime) ms, with TTL \(ttl)")
        case .expired(let cause):
            expired[cause, default: 0] += 1
            let limit = lifetime + Int64(policy.stale.maxAgeSeconds) * 1000
            try require(reply.hasAnswer && reply.extendedError == 3, "\(subject): a negative answer after its time")
            try require(age <= limit + DayAccount.roundingMilliseconds, "\(subject): beyond max-age")
            try require(ttl == policy.stale.answerTTLSeconds, "\(subject): expired with TTL \(ttl)")
        }
        if case .cache = source { fromCache += 1 }
    }

    mutating func failed(_ client: Day.Client, _ upstreams: [DayUpstream]) {
        let working = upstreams.filter { $0.works(from: now, to: now) }.count
        let phase: Phase = working == upstreams.count ? .allUp : working > 0 ? .someDown : .allDown
        failures[phase, default: 0] += 1
        checkNeed(client.subject, "failure", upstreams)
    }

    // MARK: what upstreams could have done

    mutating func fetchBegun(_ subject: Subject, _ upstream: Int, _ fate: DayUpstream.Fate?) throws {
        requests += 1
        // A lookup may end and another one begin within one event. A failure that may pass is repeated by the same one.
        if let earlier = open[subject], earlier.running == 0, case .wouldAnswer = earlier.asked[upstream] {
            open[subject] = nil
        }
        var lookup = open[subject] ?? Lookup(startedAt: now, asleepBefore: asleep)
        // The system resolver may be asked again after the gate to plain DNS was closed.
        let mayBeAsked =
            if case .wouldAnswer = lookup.asked[upstream] { upstream == lookup.asked.count - 1 } else { true }
        try require(mayBeAsked, "\(subject): upstream \(upstream) is asked twice by one lookup")
        lookup.running += 1
        lookup.asked[upstream] = fate.map { $0.isSuccess ? .wouldAnswer(at: $0.at) : .wouldFail } ?? .wouldFail
        open[subject] = lookup
    }

    mutating func fetchEnded(_ subject: Subject) {
        open[subject]?.running -= 1
        touched.append(subject)
    }

    mutating func clientAnswered(_ subject: Subject) {
        touched.append(subject)
    }

    /// Closes the lookups without requests and without clients. A lookup that waits for another lookup's trial has
    /// clients and no request.
    ///
    /// - Parameter clients: those still waiting.
    mutating func actionsDone(waiting clients: some Collection<Day.Client>) {
        for subject in touched where open[subject]?.running == 0 {
            if !clients.contains(where: { $0.subject == subject }) { open[subject] = nil }
        }
        touched.removeAll(keepingCapacity: true)
    }

    /// No expired answer and no failure while an upstream would have answered in time. An upstream is to blame itself
    /// when it was not in order all the time since the lookup began, or was asked and lost the question, answered too
    /// late or with a failure. Without a lookup, it is the memory of a failure that speaks.
    mutating func checkNeed(_ subject: Subject, _ what: String, _ upstreams: some Collection<DayUpstream>) {
        guard let lookup = open[subject] else {
            if upstreams.contains(where: { $0.works(from: now, to: now) }) { remembered[what, default: 0] += 1 }
            return
        }
        // What came during a sleep has not been heard.
        guard lookup.asleepBefore == asleep else { return }
        let due = lookup.startedAt + Int64(policy.stale.clientTimeout / .milliseconds(1))
        // Earlier where all providers are known to be down: then some are not asked in time.
        guard what != StaleCause.timeout.rawValue || now >= due else { return }
        let end = min(now, due)
        // The system resolver, which is the last, may answer only if no provider can.
        for (index, upstream) in upstreams.dropLast().enumerated()
        where upstream.works(from: lookup.startedAt, to: end) {
            switch lookup.asked[index] {
            case .wouldFail: continue
            case .wouldAnswer(let at) where at > end: continue
            case .wouldAnswer, nil:
                guard needless.count < DayAccount.mostComplaints else { return }
                needless.append("at \(now) ms \(subject): \(what), while upstream \(index) works; \(lookup)")
                return
            }
        }
    }
}
