// The account of a simulated day: it checks every reply against the true records, and every expired answer and failure
// against the upstreams' state, and it keeps the figures.

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

    /// The time of the virtual clock in milliseconds.
    var now: Int64 = 0
    /// The milliseconds in which the machine slept.
    var asleep: Int64 = 0
    var awake: Int64 { now - asleep }
    private(set) var queries = 0
    private(set) var fromCache = 0
    private(set) var repeated = 0
    private(set) var repeatedThatWaited = 0
    /// Repeated questions that were answered late.
    private(set) var slowRepeats = 0
    private(set) var requests = 0
    /// The waits of clients in milliseconds.
    private(set) var waits: [Int64] = []
    private(set) var expired: [StaleCause: Int] = [:]
    /// The time of the last expired answer in milliseconds.
    private(set) var lastExpiredAt: Int64?
    private(set) var failures: [Phase: Int] = [:]
    /// Expired answers and failures that clients got though an upstream would have answered in time; the first ones,
    /// described in words.
    private(set) var needless: [String] = []
    /// Expired answers and failures without a lookup: the question had failed shortly before, and an upstream works
    /// again.
    private(set) var remembered: [String: Int] = [:]

    private let policy: Policy
    private let upstreamCount: Int
    private var open: [Subject: Lookup] = [:]
    private var touched: [Subject] = []
    /// The time of the last query by the subject's number, without invented names, which come once.
    private var lastAsked: [Int64]

    private struct Lookup {
        let startedAt: Int64
        let asleepBefore: Int64
        var running = 0
        /// The requests by upstream; nil: not asked.
        var asked: [Asked?]
    }

    private enum Asked {
        case wouldAnswer(at: Int64)
        case wouldFail
    }

    /// The rounding error: the stamp, the time for which an answer was held back, and its age in the cache are whole
    /// seconds each.
    private static let roundingMilliseconds: Int64 = 3000
    /// The longest wait of a client (RFC 8767 section 5). A later reply comes too late for a stub.
    private static let longestWait: Int64 = 4500
    /// The interval within which a repeated question counts as in use.
    private static let repeatMilliseconds: Int64 = 600_000

    /// The time after which a request that was sent into a silence is repeated.
    private static let repeatedAfterMilliseconds: Int64 = 500
    /// The time from which a client notices that it waits.
    private static let slowMilliseconds: Int64 = 5
    private static let mostComplaints = 20

    init(policy: Policy, subjects: Int, upstreams: Int) {
        self.policy = policy
        upstreamCount = upstreams
        lastAsked = [Int64](repeating: .min / 2, count: subjects)
    }

    func broken(_ complaint: String) -> Broken { Broken(description: "at \(now) ms: \(complaint)") }

    func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
        if !condition { throw broken(complaint()) }
    }

    // MARK: questions

    /// - Returns: whether the question was asked lately.
    mutating func asked(_ subject: Subject, isMissed: Bool) -> Bool {
        queries += 1
        guard subject.kind == .site else { return false }
        let since = now - lastAsked[subject.number]
        lastAsked[subject.number] = now
        guard since < DayAccount.repeatMilliseconds else { return false }
        repeated += 1
        if isMissed { repeatedThatWaited += 1 }
        return true
    }

    mutating func waited(_ client: Day.Client) throws {
        let wait = awake - client.askedAwakeAt
        try require(wait <= DayAccount.longestWait, "a client waits for \(wait) ms")
        waits.append(wait)
        if client.isRepeated, wait > DayAccount.slowMilliseconds { slowRepeats += 1 }
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
            // Code 0: the system resolver answered in place of the providers.
            try require(
                reply.extendedError.map { $0 == 0 } ?? true, "\(subject): a fresh answer with an extended error")
            // An answer without a TTL is only for the clients that ask during its lookup.
            if case .upstream = source, ttl == 0 { break }
            try require(
                age + Int64(ttl) * 1000 <= lifetime + DayAccount.roundingMilliseconds,
                "\(subject): \(age) ms after its issue for \(lifetime) ms, with TTL \(ttl)")
        case .expired(let cause):
            expired[cause, default: 0] += 1
            lastExpiredAt = now
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
        // A lookup may end and another one begin within one event. The same lookup repeats a transient failure.
        if let earlier = open[subject], earlier.running == 0, case .wouldAnswer = earlier.asked[upstream] {
            open[subject] = nil
        }
        var lookup = open[subject] ?? newLookup
        // The system resolver may be asked again after the gate to plain DNS was closed, and a provider after its
        // silence.
        let mayBeAsked =
            if case .wouldAnswer = lookup.asked[upstream] {
                upstream == lookup.asked.count - 1 || now - lookup.startedAt >= DayAccount.repeatedAfterMilliseconds
            } else { true }
        try require(mayBeAsked, "\(subject): upstream \(upstream) is asked twice by one lookup")
        lookup.running += 1
        lookup.asked[upstream] = fate.map { $0.isSuccess ? .wouldAnswer(at: $0.at) : .wouldFail } ?? .wouldFail
        open[subject] = lookup
    }

    private var newLookup: Lookup {
        Lookup(startedAt: now, asleepBefore: asleep, asked: [Asked?](repeating: nil, count: upstreamCount))
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
    /// - Parameter clients: the clients that still wait.
    mutating func actionsDone(waiting clients: some Collection<Day.Client>) {
        for subject in touched where open[subject]?.running == 0 {
            if !clients.contains(where: { $0.subject == subject }) { open[subject] = nil }
        }
        touched.removeAll(keepingCapacity: true)
    }

    /// Records an expired answer or a failure if an upstream would have answered in time. Exempt are upstreams that
    /// were in trouble since the lookup began, lost the question, answered late or failed. Without a lookup, the
    /// resolver repeats a remembered failure.
    mutating func checkNeed(_ subject: Subject, _ what: String, _ upstreams: some Collection<DayUpstream>) {
        guard let lookup = open[subject] else {
            if upstreams.contains(where: { $0.works(from: now, to: now) }) { remembered[what, default: 0] += 1 }
            return
        }
        // Replies that arrive during a sleep are not yet handled.
        guard lookup.asleepBefore == asleep else { return }
        let due = lookup.startedAt + Int64(policy.stale.clientTimeout / .milliseconds(1))
        // A timeout may come earlier if all providers are known to be down. Some are then not asked in time.
        guard what != StaleCause.timeout.rawValue || now >= due else { return }
        let end = min(now, due)
        // The system resolver, the last upstream, may answer only if no provider can.
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
