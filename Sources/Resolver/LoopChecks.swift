// Finds nameservers that ask us in turn: each is asked once for a name that nobody else can know. When a client asks
// us for that name, the server that was given it leads back to ourselves.

package import DNSWire

package struct LoopChecks: Sendable {
    package struct Check: Equatable, Sendable {
        package let server: Nameserver
        /// What to ask the server; the answer does not matter.
        package let question: Question
    }

    package let checks: [Check]
    private let validUntil: Instant

    /// A question that is still on its way after the time clients wait is lost. Later, who overheard a token cannot use
    /// it to have a server switched off.
    package static let lifetime: Duration = .seconds(10)
    /// RFC 6761 section 6.5 has resolvers treat "example" like any name. ("invalid" and "test" are answered by
    /// systemd-resolved or unbound themselves, so a loop through these would stay hidden.)
    private static let suffix = "httpdnsd-loop.example"

    /// New tokens whenever the servers change.
    package init(_ servers: [Nameserver], now: Instant, randomness: inout some RandomNumberGenerator) {
        checks = servers.compactMap { server in
            let digits = String(randomness.next(), radix: 16)
            let token = String(repeating: "0", count: 16 - digits.count) + digits
            return Name("\(token).\(LoopChecks.suffix)").map { Check(server: server, question: Question($0, .txt)) }
        }
        validUntil = now + LoopChecks.lifetime
    }

    /// The server to leave out from now on, when a client's question is a token of ours.
    package func loopingServer(asking question: Question, now: Instant) -> Nameserver? {
        guard now < validUntil else { return nil }
        return checks.first { $0.question == question }?.server
    }
}
