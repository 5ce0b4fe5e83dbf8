// What the log says about a nameserver: of the operator, by its name, or of the system, by its address.

import Control
import DNSWire
import Resolver
import Upstreams

enum NameserverNews {
    /// Every server of the operator's nameserver fails.
    case down(name: String, reason: String)
    case up(name: String)
    /// A server of the system forwards queries back to this daemon.
    case loops(String)
    case askedAgain(String)
    /// A server does not reply, another one does.
    case silent(String)
    case replies(String)
    /// UDP to a server is blocked.
    case onlyTCP(String)
    case datagramsAgain(String)
    /// A link's servers answer for domains from now on.
    ///
    /// - Parameter ignored: announced domains that the link has no claim to.
    case announced(AnnouncingLink, ignored: [Name])
    /// The link with this name announces nothing any more.
    case linkEnded(String)

    init(_ news: NameserverStandings.News) {
        self =
            switch news {
            case .silent(let server): .silent(server.description)
            case .replies(let server): .replies(server.description)
            case .onlyStreams(let server): .onlyTCP(server.description)
            case .datagramsAgain(let server): .datagramsAgain(server.description)
            }
    }

    /// Whether other servers of the system are asked from now on.
    var changesServers: Bool {
        switch self {
        case .loops, .askedAgain: true
        case .down, .up, .silent, .replies, .onlyTCP, .datagramsAgain, .announced, .linkEnded: false
        }
    }

    var word: String {
        switch self {
        case .down: "nameserver-down"
        case .up: "nameserver-up"
        case .loops: "nameserver-loops"
        case .askedAgain: "nameserver-asked-again"
        case .silent: "nameserver-silent"
        case .replies: "nameserver-replies"
        case .onlyTCP: "nameserver-tcp-only"
        case .datagramsAgain: "nameserver-udp-again"
        case .announced: "link-announces"
        case .linkEnded: "link-ended"
        }
    }

    var text: String {
        switch self {
        case .down(let name, let reason): "nameserver \(name) is down: \(reason)"
        case .up(let name): "nameserver \(name) is up"
        case .loops(let server): "nameserver \(server) forwards queries back to this daemon; not used"
        case .askedAgain(let server): "nameserver \(server) no longer forwards queries back to this daemon; used again"
        case .silent(let server): "nameserver \(server) does not reply; asked last, and tested beside questions"
        case .replies(let server): "nameserver \(server) replies again"
        case .onlyTCP(let server): "nameserver \(server) replies over TCP, not over UDP; asked over TCP"
        case .datagramsAgain(let server): "nameserver \(server) replies over UDP again"
        case .announced(let link, let ignored):
            "link \(link.name) announces \(words(link.domains)); its servers are \(words(link.servers))"
                + (ignored.isEmpty ? "" : "; ignored, since public or another link's: \(words(ignored))")
        case .linkEnded(let name): "link \(name) announces no domain any more"
        }
    }

    var fields: [String: LogField] {
        switch self {
        case .down(let name, let reason): ["nameserver": .text(name), "reason": .text(reason)]
        case .up(let name): ["nameserver": .text(name)]
        case .loops(let server), .askedAgain(let server), .silent(let server), .replies(let server),
            .onlyTCP(let server), .datagramsAgain(let server):
            ["server": .text(server)]
        case .announced(let link, let ignored):
            [
                "link": .text(link.name), "domains": .list(link.domains.map(\.description)),
                "servers": .list(link.servers.map(\.description)),
                "ignored": .list(ignored.map(\.description)),
            ]
        case .linkEnded(let name): ["link": .text(name)]
        }
    }

    private func words(_ values: [some CustomStringConvertible]) -> String {
        values.map(\.description).joined(separator: ", ")
    }
}
