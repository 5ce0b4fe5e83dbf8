// Checks how the system's nameservers answer: a short answer over UDP, over TCP, and a fragmented answer over UDP.
// Checks that the servers of [[nameserver]] answer, and not by asking the daemon.

struct NameserverCheck: Sendable {
    enum Reply: Equatable, Sendable {
        /// The response code and the message length.
        case answered(code: UInt16, bytes: Int)
        case refused
        case silent
        case noRoute
        /// The system's error text.
        case failed(LocalizedText)

        var isAnswer: Bool { if case .answered = self { true } else { false } }
    }

    struct Server: Equatable, Sendable {
        /// "192.0.2.53:53"
        let place: String
        let udp: Reply
        /// The reply to the long query.
        let tcp: Reply
        /// The UDP reply to the long query, with a large EDNS payload size.
        let largeUDP: Reply
    }

    /// A server of a [[nameserver]].
    struct Named: Equatable, Sendable {
        let nameserver: String
        let place: String
        let udp: Reply
        let tcp: Reply
        var forwardsToDaemon = false
    }

    let servers: [Server]
    var named: [Named] = []

    private static let refusedCode: UInt16 = 5
    private static let serverFailureCode: UInt16 = 2

    var findings: [Finding] {
        let gravity: Finding.Gravity = servers.contains { $0.udp.isAnswer || $0.tcp.isAnswer } ? .warning : .fault
        return servers.compactMap { finding($0, gravity) } + servers.compactMap(fragments)
            + named.compactMap(finding)
    }

    /// Names that go to a nameserver go nowhere else, and fail without it.
    private func finding(_ server: Named) -> Finding? {
        let place: LocalizedText = "\(server.place) of nameserver \(server.nameserver)"
        if server.forwardsToDaemon {
            return Finding(
                .warning, .nameservers, "\(place) forwards queries to the daemon: its names fail",
                remedy: "let it answer its names itself, or remove it from servers")
        }
        if case .answered(NameserverCheck.refusedCode, _) = server.udp {
            return Finding(
                .warning, .nameservers, "\(place) refuses to answer this machine",
                remedy: "allow this machine in its access list, or remove it from servers")
        }
        guard !server.udp.isAnswer || !server.tcp.isAnswer else { return nil }
        let why = NameserverCheck.words(server.udp.isAnswer ? server.tcp : server.udp)
        guard server.udp.isAnswer || server.tcp.isAnswer else {
            return Finding(
                .warning, .nameservers, "\(place) does not answer (\(why))",
                remedy: "connect its network, or remove it from servers")
        }
        let transport = server.udp.isAnswer ? "TCP" : "UDP"
        return Finding(
            .warning, .nameservers, "\(place) does not answer over \(transport) (\(why))",
            remedy: "allow port 53 over \(transport) in the firewall")
    }

    private func finding(_ server: Server, _ gravity: Finding.Gravity) -> Finding? {
        let remedy: LocalizedText = "use another nameserver, or set servers = [...] under [system-resolver]"
        if case .answered(NameserverCheck.refusedCode, _) = server.udp {
            return Finding(
                gravity, .nameservers, "\(server.place) refuses to answer this machine",
                remedy: "allow this machine in its access list, or \(remedy)")
        }
        if case .answered(NameserverCheck.serverFailureCode, _) = server.udp {
            return Finding(
                gravity, .nameservers, "\(server.place) fails (SERVFAIL): it can't reach its own upstreams",
                remedy: remedy)
        }
        switch (server.udp.isAnswer, server.tcp.isAnswer) {
        case (true, true): return nil
        case (false, false):
            return Finding(
                gravity, .nameservers, "\(server.place) does not answer (\(NameserverCheck.words(server.udp)))",
                remedy: remedy)
        case (true, false):
            return Finding(
                .warning, .nameservers,
                "\(server.place) does not answer over TCP (\(NameserverCheck.words(server.tcp))): long answers fail",
                remedy: "allow TCP port 53 in the firewall, or \(remedy)")
        case (false, true):
            return Finding(
                .warning, .nameservers,
                "\(server.place) answers over TCP only (UDP: \(NameserverCheck.words(server.udp)))",
                remedy: "allow UDP port 53 in the firewall, or \(remedy)")
        }
    }

    /// Reports lost fragments: the server answers short queries over UDP and long ones over TCP, but not long ones
    /// over UDP.
    private func fragments(_ server: Server) -> Finding? {
        guard server.udp.isAnswer, server.tcp.isAnswer, !server.largeUDP.isAnswer else { return nil }
        return Finding(
            .warning, .fragments, "long answers of \(server.place) over UDP are lost, short ones and TCP arrive",
            remedy: """
                allow fragments in the firewall; or limit that nameserver's responses to 1232 bytes \
                (unbound: edns-buffer-size: 1232)
                """)
    }

    private static func words(_ reply: Reply) -> LocalizedText {
        switch reply {
        case .answered: "answered"
        case .refused: "connection refused"
        case .silent: "silence"
        case .noRoute: "no route"
        case .failed(let why): why
        }
    }
}
