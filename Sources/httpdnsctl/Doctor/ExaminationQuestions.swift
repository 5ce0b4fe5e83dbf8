// The DNS queries that the doctor sends to the daemon and to nameservers, and the doctor's terms for their outcomes.

import DNSWire
import LinuxIO
import Resolver
import Settings

/// Version queries to one listen address of the daemon, over UDP and TCP.
struct DaemonQuestions {
    let place: SocketAddress
    let udp: QueryCheck
    let tcp: QueryCheck
    /// No interface has the address, so another machine may have it: it is not asked.
    private let isMissing: Bool
    private let allowsLoopback: Bool

    /// - Parameters:
    ///   - place: the listen address; a wildcard is queried at loopback.
    ///   - allowsLoopback: whether programs of this machine may query there.
    init(place: SocketAddress, allowsLoopback: Bool) {
        self.place = place
        self.allowsLoopback = allowsLoopback
        isMissing = !Interfaces.missing(of: [place]).isEmpty
        let loopback = SocketAddress(place.isIPv6 ? .loopback6 : .loopback4, port: place.port)
        let target = place.isWildcard ? loopback : place
        udp = QueryCheck(DaemonProof.version.question, to: target, .udp)
        tcp = QueryCheck(DaemonProof.version.question, to: target, .tcp)
    }

    var checks: [any NetworkCheck] { isMissing ? [] : [udp, tcp] }

    var listener: DaemonCheck.Listener {
        if isMissing { return DaemonCheck.Listener(place: "\(place)", udp: .addressMissing, tcp: .addressMissing) }
        return DaemonCheck.Listener(place: "\(place)", udp: reply(udp), tcp: reply(tcp))
    }

    /// A query to a non-loopback address of this machine comes from that address. The daemon's access list may
    /// therefore refuse it.
    private func isDeclined(_ reply: [UInt8], _ place: SocketAddress) -> Bool {
        let refusedCode: UInt16 = 5
        return Header(reply.span)?.responseCode == refusedCode && !(place.address.isLoopback && allowsLoopback)
    }

    private func reply(_ check: QueryCheck) -> DaemonCheck.Reply {
        switch check.outcome {
        case .answer(let bytes) where DaemonProof.version.isProved(by: bytes, id: check.id): .ours
        case .answer(let bytes): isDeclined(bytes, check.place) ? .declined : .foreign
        case .refused: .refused
        case .silent, nil: .silent
        case .noRoute: .addressMissing
        case .failed(let why): .unsent(why)
        }
    }
}

/// Queries to one of the system resolver's nameservers.
struct NameserverQuestions {
    private let place: SocketAddress
    private let udp: QueryCheck
    private let tcp: QueryCheck
    private let largeUDP: QueryCheck

    /// Returns nil if the interface of a link-local address is gone.
    init?(_ server: Nameserver) {
        guard let place = SocketAddress(withZone: server.description) else { return nil }
        self.place = place
        udp = QueryCheck(ExaminingQuestion.short.message, to: place, .udp)
        tcp = QueryCheck(ExaminingQuestion.long.message, to: place, .tcp)
        largeUDP = QueryCheck(ExaminingQuestion.long.message, to: place, .udp)
    }

    var checks: [any NetworkCheck] { [udp, tcp, largeUDP] }

    var server: NameserverCheck.Server {
        NameserverCheck.Server(
            place: "\(place)", udp: NameserverQuestions.reply(udp), tcp: NameserverQuestions.reply(tcp),
            largeUDP: NameserverQuestions.reply(largeUDP))
    }

    fileprivate static func reply(_ check: QueryCheck) -> NameserverCheck.Reply {
        switch check.outcome {
        case .answer(let bytes):
            .answered(code: Header(bytes.span).map(\.responseCode) ?? 0, bytes: bytes.count)
        case .refused: .refused
        case .silent, nil: .silent
        case .noRoute: .noRoute
        case .failed(let why): .failed(why)
        }
    }
}

/// Queries to one server of a [[nameserver]] without TLS.
struct NamedServerQuestions {
    private let nameserver: String
    private let udp: QueryCheck
    private let tcp: QueryCheck
    private let forwarding: QueryCheck

    /// Returns nil for a server with TLS: the daemon tells whether it works.
    init?(_ server: Settings.Nameserver.Server, of nameserver: Settings.Nameserver) {
        guard server.transport == .plain else { return nil }
        self.nameserver = nameserver.name
        // The server may refuse all names except those of the nameserver's settings.
        let question = Question(nameserver.names.first ?? .root, .soa)
        func check(_ question: Question, _ transport: QueryCheck.Transport) -> QueryCheck {
            QueryCheck(
                { UpstreamQuery.message(for: question, id: $0) }, to: server.endpoint, transport,
                through: nameserver.interface)
        }
        (udp, tcp) = (check(question, .udp), check(question, .tcp))
        forwarding = QueryCheck(DaemonProof.zone.question, to: server.endpoint, .udp, through: nameserver.interface)
    }

    var checks: [any NetworkCheck] { [udp, tcp, forwarding] }

    var server: NameserverCheck.Named {
        NameserverCheck.Named(
            nameserver: nameserver, place: "\(udp.place)", udp: NameserverQuestions.reply(udp),
            tcp: NameserverQuestions.reply(tcp),
            forwardsToDaemon: forwarding.isForwarded)
    }
}

extension QueryCheck {
    /// Whether the server passes queries on to the daemon: the reply to the question for the daemon's zone is the
    /// daemon's.
    var isForwarded: Bool {
        guard case .answer(let bytes) = outcome else { return false }
        return DaemonProof.zone.isProved(by: bytes, id: id)
    }
}

/// A query to a nameserver of resolv.conf that is not the daemon, but may forward queries to it.
struct ForwardingQuestion {
    let server: Nameserver
    let check: QueryCheck

    init?(_ server: Nameserver) {
        guard let place = SocketAddress(withZone: server.description) else { return nil }
        self.server = server
        check = QueryCheck(DaemonProof.zone.question, to: place, .udp)
    }

    var isForwarded: Bool { check.isForwarded }
}

/// The DNS queries that the doctor sends to nameservers.
enum ExaminingQuestion: Sendable {
    /// `. NS`: every resolver can answer it, and the answer fits into any packet.
    case short
    /// `. DNSKEY` with signatures: about 1,400 bytes today; the query accepts answers larger than one packet.
    case long

    private static let dnskeyType = RecordType(rawValue: 48)
    /// UDP payload size of the long query (RFC 6891 section 6.2.5); most resolvers advertise less by default.
    private static let largePayloadBytes: UInt16 = 4096

    func message(id: UInt16) -> [UInt8] {
        switch self {
        case .short: return UpstreamQuery.message(for: Question(.root, .ns), id: id)
        case .long:
            var message = UpstreamQuery.message(
                for: Question(.root, ExaminingQuestion.dnskeyType), id: id,
                payloadSize: ExaminingQuestion.largePayloadBytes)
            // The OPT flags precede the data length; the first flag is DO (RFC 3225).
            message[message.count - 4] |= 0x80
            return message
        }
    }
}
