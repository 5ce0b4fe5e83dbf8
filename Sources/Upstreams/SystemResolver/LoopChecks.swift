// Detects nameservers that forward to this daemon. Each is asked for a name with a random token. If a client asks for
// that name, the server is excluded until a later check shows no loop. Only names with a token count, as any client may
// ask for any other name.

import DNSWire
import Resolver

/// States of a nameserver:
///
///     asked --its token comes back--> omitted --after a pause--> tried --the check ends--> asked
///                                        ^                         |
///                                        `---its token comes back--'
struct LoopChecks: Sendable {
    struct Check: Equatable, Sendable {
        let server: Nameserver
        /// The question for the server. Its answer does not matter.
        let question: Question
    }

    enum Action: Equatable, Sendable {
        /// Ask the server, and report the end with any result to `checkFinished`.
        case ask(Check)
        /// The server forwards to this daemon.
        case leaveOut(Nameserver)
        /// The server no longer forwards to this daemon.
        case takeBack(Nameserver)
    }

    private enum Standing: Equatable {
        case asked
        case omitted(until: Instant)
        case tried
    }

    private struct Server {
        let server: Nameserver
        var standing = Standing.asked
        var question: Question?
        /// Expiry of the token.
        var validUntil: Instant?

        func isChecked(_ now: Instant) -> Bool { validUntil.map { now < $0 } ?? false }
    }

    private var servers: [Server] = []
    /// The questions of the last checks, in their order, and when each stops to count as the daemon's own.
    private var given: [(question: Question, until: Instant)] = []
    /// When all servers were last checked because questions had returned.
    private var suspectedAt: Instant?
    /// Questions of the daemon that a client asked while their answer was awaited, since the last check of all servers.
    private var returnedQuestions = 0

    /// Lifetime of a token. A query in transit for longer than clients wait is lost. The limit also prevents later
    /// misuse of an observed token to have a server excluded.
    static let lifetime: Duration = .seconds(10)
    /// How long a returning question still counts as the daemon's own: forwarders repeat a query without a reply for up
    /// to a minute, also after its token has expired or a newer check has replaced it.
    static let ownFor: Duration = .seconds(60)
    /// Bound on remembered questions: several checks of the most servers that resolv.conf usually has. An older
    /// question counts as a client's.
    static let maxGiven = 32
    /// Shortest and longest pause before an excluded server is checked again, as it may have been repaired. The pause
    /// varies: two daemons that forward to each other would otherwise always check at the same time.
    static let minPause: Duration = .seconds(60)
    static let maxPause: Duration = .seconds(90)
    /// Returned questions that start a check. Two clients may ask the same at once, so one question is weak evidence. A
    /// check costs one query per server.
    static let suspiciousQuestions = 2
    /// Minimum interval between checks because of returned questions, for networks in which many clients ask the same
    /// questions.
    static let checkInterval: Duration = .seconds(30)
    /// RFC 6761 section 6.5 has resolvers treat "example" like any name. ("invalid" and "test" are answered by
    /// systemd-resolved or unbound themselves, so a loop through these would stay hidden.)
    private static let suffix = "httpdnsd-loop.example"
    private static let zone = Name(suffix)

    /// Servers that clients' questions may be sent to.
    var askable: [Nameserver] { servers.filter { $0.standing == .asked }.map(\.server) }

    var looping: [Nameserver] { servers.filter { $0.standing != .asked }.map(\.server) }

    /// When `timePassed` is due.
    var nextDeadline: Instant? {
        servers.compactMap { server in
            if case .omitted(let until) = server.standing { until } else { nil }
        }.min()
    }

    /// Sets the servers and restarts all checks, as the path back to this daemon may have changed too. A server that
    /// was excluded must first show that it no longer forwards here.
    mutating func setServers(
        _ servers: [Nameserver], now: Instant, randomness: inout some RandomNumberGenerator
    ) -> [Action] {
        let omitted = Set(looping)
        self.servers = servers.map { Server(server: $0, standing: omitted.contains($0) ? .tried : .asked) }
        return checkAll(now: now, randomness: &randomness)
    }

    /// Whether the name may have a token.
    static func mayHaveToken(_ name: Name) -> Bool { zone.map { name.isWithin($0) } ?? true }

    /// Whether a client can know the question only from one of the servers. Such a token gets no reply.
    func isToken(_ question: Question, now: Instant) -> Bool {
        given.contains { $0.question == question && now < $0.until }
    }

    private func serverOfToken(_ question: Question, now: Instant) -> Int? {
        servers.firstIndex { server in server.isChecked(now) && server.question == question }
    }

    /// Handles a client's question.
    ///
    /// - Returns: nil for an ordinary question. The actions may be empty: the forwarding server repeats the query if it
    ///   gets no reply, and an expired or replaced token says nothing about the present servers.
    mutating func clientAsked(
        _ question: Question, now: Instant, randomness: inout some RandomNumberGenerator
    ) -> [Action]? {
        guard isToken(question, now: now) else { return nil }
        guard let index = serverOfToken(question, now: now) else { return [] }
        let standing = servers[index].standing
        if case .omitted = standing { return [] }
        let spread = (LoopChecks.maxPause - LoopChecks.minPause).wholeSeconds
        let pause = LoopChecks.minPause + .seconds(Int64.random(in: 0...spread, using: &randomness))
        servers[index].standing = .omitted(until: now + pause)
        return standing == .asked ? [.leaveOut(servers[index].server)] : []
    }

    /// Handles a client's question that equals a question of the daemon to a nameserver. This may be chance, so a check
    /// starts, at most once per `checkInterval`.
    mutating func questionReturned(now: Instant, randomness: inout some RandomNumberGenerator) -> [Action] {
        returnedQuestions += 1
        guard returnedQuestions >= LoopChecks.suspiciousQuestions else { return [] }
        if let suspectedAt, now < suspectedAt + LoopChecks.checkInterval { return [] }
        suspectedAt = now
        return checkAll(now: now, randomness: &randomness)
    }

    /// - Parameter isAnswered: the server sent an answer or a refusal. Silence proves nothing; the check is repeated
    ///   later.
    mutating func checkFinished(_ question: Question, isAnswered: Bool, now: Instant) -> [Action] {
        guard let index = servers.firstIndex(where: { $0.question == question }), servers[index].standing == .tried
        else { return [] }
        guard isAnswered else {
            servers[index].standing = .omitted(until: now + LoopChecks.minPause)
            return []
        }
        servers[index].standing = .asked
        return [.takeBack(servers[index].server)]
    }

    mutating func timePassed(now: Instant, randomness: inout some RandomNumberGenerator) -> [Action] {
        var actions: [Action] = []
        for index in servers.indices {
            guard case .omitted(let until) = servers[index].standing, until <= now else { continue }
            servers[index].standing = .tried
            actions += check(index, now: now, randomness: &randomness)
        }
        return actions
    }

    /// Checks all servers except the excluded ones, which have their own timer.
    private mutating func checkAll(now: Instant, randomness: inout some RandomNumberGenerator) -> [Action] {
        returnedQuestions = 0
        var actions: [Action] = []
        for index in servers.indices {
            if case .omitted = servers[index].standing { continue }
            actions += check(index, now: now, randomness: &randomness)
        }
        return actions
    }

    private mutating func check(
        _ index: Int, now: Instant, randomness: inout some RandomNumberGenerator
    ) -> [Action] {
        // 64 unpredictable bits.
        let digits = String(randomness.next(), radix: 16)
        let token = String(repeating: "0", count: 16 - digits.count) + digits
        guard let name = Name("\(token).\(LoopChecks.suffix)") else { return [] }
        let question = Question(name, .txt)
        servers[index].question = question
        servers[index].validUntil = now + LoopChecks.lifetime
        given.removeFirst(max(0, given.count + 1 - LoopChecks.maxGiven))
        given.append((question, now + LoopChecks.ownFor))
        return [.ask(Check(server: servers[index].server, question: question))]
    }
}
