// Finds nameservers that ask us in turn: each is asked for a name that nobody else can know. When a client asks us for
// that name, the server that was given it leads back to ourselves, and no client's question goes there any more until
// it has shown that it does not. It judges by such names only: anybody may ask for anything else.
//
//     asked --its token comes back--> left out --after a while--> tried --the check ends--> asked
//                                        ^                          |
//                                        `----its token comes back--'

package import DNSWire

package struct LoopChecks: Sendable {
    package struct Check: Equatable, Sendable {
        package let server: Nameserver
        /// What to ask the server; the answer does not matter.
        package let question: Question
    }

    package enum Action: Equatable, Sendable {
        /// And tell when that is over, whatever came of it: `checkFinished`.
        case ask(Check)
        /// It leads back to us.
        case leaveOut(Nameserver)
        /// It does not any more.
        case takeBack(Nameserver)
    }

    private enum Standing: Equatable {
        case asked
        case leftOut(until: Instant)
        case tried
    }

    private struct Server {
        let server: Nameserver
        var standing = Standing.asked
        var question: Question?
        /// Of the question as a token.
        var validUntil: Instant?
    }

    private var servers: [Server] = []
    /// When all were checked because questions had come back.
    private var suspectedAt: Instant?
    /// Questions of ours that a client asked while their answer was awaited, since all were checked.
    private var returnedQuestions = 0

    /// A question that is still on its way after the time clients wait is lost. Later, who overheard a token cannot use
    /// it to have a server switched off.
    package static let lifetime: Duration = .seconds(10)
    /// Before a server that leads back is tried again: it may have been mended. Not always the same, as two that lead
    /// to each other would try at the same time for ever.
    package static let minPause: Duration = .seconds(60)
    package static let maxPause: Duration = .seconds(90)
    /// Two clients may ask the same at once, so a single question says little; and a check is one query to each server.
    package static let suspiciousQuestions = 2
    /// Where many clients ask for the same, that would happen all the time.
    package static let checkInterval: Duration = .seconds(30)
    /// RFC 6761 section 6.5 has resolvers treat "example" like any name. ("invalid" and "test" are answered by
    /// systemd-resolved or unbound themselves, so a loop through these would stay hidden.)
    private static let suffix = "httpdnsd-loop.example"

    package init() {}

    /// Those that may be asked for clients.
    package var askable: [Nameserver] { servers.filter { $0.standing == .asked }.map(\.server) }

    package var looping: [Nameserver] { servers.filter { $0.standing != .asked }.map(\.server) }

    /// When `timePassed` is due.
    package var nextDeadline: Instant? {
        servers.compactMap { server in
            if case .leftOut(let until) = server.standing { until } else { nil }
        }.min()
    }

    /// Everything begins anew, as the way to us may be another one, too. A server that led back must show first that it
    /// does not any more.
    package mutating func setServers(
        _ servers: [Nameserver], now: Instant, randomness: inout some RandomNumberGenerator
    ) -> [Action] {
        let leftOut = Set(looping)
        self.servers = servers.map { Server(server: $0, standing: leftOut.contains($0) ? .tried : .asked) }
        return checkAll(now: now, randomness: &randomness)
    }

    /// A client asks.
    ///
    /// - Returns: nil for its own question. A token gets no answer; what follows from it may be nothing, as who
    ///   forwards it to us asks again when nothing comes.
    package mutating func clientAsked(
        _ question: Question, now: Instant, randomness: inout some RandomNumberGenerator
    ) -> [Action]? {
        guard let index = servers.firstIndex(where: { $0.question == question }),
            let validUntil = servers[index].validUntil, now < validUntil
        else { return nil }
        let standing = servers[index].standing
        if case .leftOut = standing { return [] }
        let spread = (LoopChecks.maxPause - LoopChecks.minPause).components.seconds
        let pause = LoopChecks.minPause + .seconds(Int64.random(in: 0...spread, using: &randomness))
        servers[index].standing = .leftOut(until: now + pause)
        return standing == .asked ? [.leaveOut(servers[index].server)] : []
    }

    /// A client asks what a nameserver has been asked and has not answered yet. That may be chance; so it is looked
    /// into, at a bounded pace.
    package mutating func questionReturned(now: Instant, randomness: inout some RandomNumberGenerator) -> [Action] {
        returnedQuestions += 1
        guard returnedQuestions >= LoopChecks.suspiciousQuestions else { return [] }
        if let suspectedAt, now < suspectedAt + LoopChecks.checkInterval { return [] }
        suspectedAt = now
        return checkAll(now: now, randomness: &randomness)
    }

    /// - Parameter isAnswered: with an answer or a refusal. Silence shows nothing; then it is tried once more later.
    package mutating func checkFinished(_ question: Question, isAnswered: Bool, now: Instant) -> [Action] {
        guard let index = servers.firstIndex(where: { $0.question == question }), servers[index].standing == .tried
        else { return [] }
        guard isAnswered else {
            servers[index].standing = .leftOut(until: now + LoopChecks.minPause)
            return []
        }
        servers[index].standing = .asked
        return [.takeBack(servers[index].server)]
    }

    package mutating func timePassed(now: Instant, randomness: inout some RandomNumberGenerator) -> [Action] {
        var actions: [Action] = []
        for index in servers.indices {
            guard case .leftOut(let until) = servers[index].standing, until <= now else { continue }
            servers[index].standing = .tried
            actions += check(index, now: now, randomness: &randomness)
        }
        return actions
    }

    /// But for those that are left out: they have a time of their own.
    private mutating func checkAll(now: Instant, randomness: inout some RandomNumberGenerator) -> [Action] {
        returnedQuestions = 0
        var actions: [Action] = []
        for index in servers.indices {
            if case .leftOut = servers[index].standing { continue }
            actions += check(index, now: now, randomness: &randomness)
        }
        return actions
    }

    private mutating func check(
        _ index: Int, now: Instant, randomness: inout some RandomNumberGenerator
    ) -> [Action] {
        // 64 bits that nobody can guess.
        let digits = String(randomness.next(), radix: 16)
        let token = String(repeating: "0", count: 16 - digits.count) + digits
        guard let name = Name("\(token).\(LoopChecks.suffix)") else { return [] }
        servers[index].question = Question(name, .txt)
        servers[index].validUntil = now + LoopChecks.lifetime
        return [.ask(Check(server: servers[index].server, question: Question(name, .txt)))]
    }
}
