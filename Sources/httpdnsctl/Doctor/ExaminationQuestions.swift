// The DNS queries that the doctor sends to the daemon and to nameservers, and the doctor's terms for their outcomes.

import DNSWire
import Doctor
import LinuxIO
import Resolver
import Takeover

/// Version queries to one listen address of the daemon, over UDP and TCP.
struct DaemonQuestions {
    let place: SocketAddress
    let udp: QuestionErrand
    let tcp: QuestionErrand

    /// - Parameter place: the listen address; a wildcard is queried at loopback.
    init(place: SocketAddress, _ entropy: SystemEntropy) {
        self.place = place
        let loopback = SocketAddress(place.isIPv6 ? "[::1]:\(place.port)" : "127.0.0.1:\(place.port)")
        let target = place.isWildcard ? loopback ?? place : place
        udp = QuestionErrand(
            DaemonProof.version.question, to: target, .udp, id: UInt16(truncatingIfNeeded: entropy.next()))
        tcp = QuestionErrand(
            DaemonProof.version.question, to: target, .tcp, id: UInt16(truncatingIfNeeded: entropy.next()))
    }

    var errands: [any Errand] { [udp, tcp] }

    var listener: DaemonCheck.Listener {
        DaemonCheck.Listener("\(place)", udp: DaemonQuestions.reply(udp), tcp: DaemonQuestions.reply(tcp))
    }

    /// A query to a non-loopback address of this machine comes from that address. The daemon's access list may
    /// therefore refuse it.
    private static func isDeclined(_ reply: [UInt8], _ place: SocketAddress) -> Bool {
        let refusedCode: UInt16 = 5
        return Header(reply.span)?.responseCode == refusedCode && Address(bytes: place.ipBytes)?.isLoopback == false
    }

    private static func reply(_ errand: QuestionErrand) -> DaemonCheck.Reply {
        switch errand.outcome {
        case .answer(let bytes) where DaemonProof.version.isProved(by: bytes, id: errand.id): .ours
        case .answer(let bytes): isDeclined(bytes, errand.place) ? .declined : .foreign
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
    private let udp: QuestionErrand
    private let tcp: QuestionErrand
    private let largeUDP: QuestionErrand

    /// Nil if the interface of a link-local address is gone.
    init?(_ server: Nameserver, _ entropy: SystemEntropy) {
        guard let place = SocketAddress(server.description) else { return nil }
        self.place = place
        udp = QuestionErrand(
            ExaminingQuestion.short.message, to: place, .udp, id: UInt16(truncatingIfNeeded: entropy.next()))
        tcp = QuestionErrand(
            ExaminingQuestion.long.message, to: place, .tcp, id: UInt16(truncatingIfNeeded: entropy.next()))
        largeUDP = QuestionErrand(
            ExaminingQuestion.long.message, to: place, .udp, id: UInt16(truncatingIfNeeded: entropy.next()))
    }

    var errands: [any Errand] { [udp, tcp, largeUDP] }

    var server: NameserverCheck.Server {
        NameserverCheck.Server(
            "\(place)", udp: NameserverQuestions.reply(udp), tcp: NameserverQuestions.reply(tcp),
            largeUDP: NameserverQuestions.reply(largeUDP))
    }

    private static func reply(_ errand: QuestionErrand) -> NameserverCheck.Reply {
        switch errand.outcome {
        case .answer(let bytes):
            .answered(code: Header(bytes.span).map(\.responseCode) ?? 0, bytes: bytes.count)
        case .refused: .refused
        case .silent, nil: .silent
        case .noRoute: .noRoute
        case .failed(let why): .failed(why)
        }
    }
}

/// A query to a nameserver of resolv.conf that is not the daemon, but may forward queries to it.
struct PassageQuestion {
    let server: Nameserver
    let errand: QuestionErrand

    init?(_ server: Nameserver, _ entropy: SystemEntropy) {
        guard let place = SocketAddress(server.description) else { return nil }
        self.server = server
        errand = QuestionErrand(
            DaemonProof.zone.question, to: place, .udp, id: UInt16(truncatingIfNeeded: entropy.next()))
    }

    var isPassed: Bool {
        guard case .answer(let bytes) = errand.outcome else { return false }
        return DaemonProof.zone.isProved(by: bytes, id: errand.id)
    }
}
