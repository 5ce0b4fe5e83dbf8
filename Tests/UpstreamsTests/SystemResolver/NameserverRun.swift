// A lookup at nameservers "a", "b", ... with a clock that the test moves, and a log of its actions.

import DNSWire
import Resolver
import TestSupport
import Testing

@testable import Upstreams

struct NameserverRun {
    /// The reply of a server, made from the query.
    enum Reply: CaseIterable {
        case addresses, noData, noSuchName, truncated, serverFailure, refused, referral, malformed
        case formatError, bareFormatError
        case otherID, otherName, truncatedOtherID, ourOwnQuery, junk

        var isAnswer: Bool { self == .addresses || self == .noData || self == .noSuchName }
    }

    private(set) var lookup: NameserverLookup
    private(set) var standings: NameserverStandings
    private(set) var log: [String] = []
    private(set) var closed: [Int] = []
    private(set) var results = 0
    private(set) var endedAtMilliseconds = 0
    private(set) var elapsedMilliseconds = 0
    private var queries: [[UInt8]] = []
    private var exchanges: [NameserverLookup.ExchangeID] = []
    private var randomness: SeededRandom
    private let origin: Instant

    /// - Parameters:
    ///   - standings: the standings after an earlier run.
    ///   - isTest: whether the lookup is a test of the servers that are due for one.
    init(
        servers: Int, withTLS: Bool = false, withinMilliseconds: Int = 4500, seed: UInt64 = 1,
        after standings: NameserverStandings = NameserverStandings(), atSeconds: Int64 = 0, options: String = "",
        isTest: Bool = false
    ) {
        let options = NameserverRun.options(options)
        var standings = standings
        origin = .testStart + .seconds(atSeconds)
        let tls = Nameserver.TLS(certificateName: "dns.example", caFile: nil)
        let all = (0..<servers).map { Nameserver(.v4(0xC000_0200 + UInt32($0)), tls: withTLS ? tls : nil) }
        let nameservers = isTest ? standings.takeDueTests(of: all, now: origin) : standings.order(all, options)
        guard let name = Name("www.example.com") else { preconditionFailure("the name is one") }
        lookup = NameserverLookup(
            Question(name, .a), servers: nameservers, options, isTest: isTest,
            deadline: origin + .milliseconds(withinMilliseconds))
        randomness = SeededRandom(seed: seed)
        self.standings = standings
    }

    static func options(_ words: String) -> NameserverOptions {
        NameserverList(resolvConf: Array("options \(words)\n".utf8), without: ListenAddresses([])).options
    }

    var opened: Int { queries.count }
    /// Whether each query had an OPT record.
    var hadEDNS: [Bool] { queries.map { $0[11] == 1 } }
    var queryBytes: [Int] { queries.map(\.count) }
    var queryIDs: [UInt16] { queries.map { UInt16($0[0]) << 8 | UInt16($0[1]) } }

    mutating func start() { handle(.started) }

    /// Moves the clock forward, and handles each deadline on the way.
    mutating func advance(_ milliseconds: Int) {
        let target = elapsedMilliseconds + milliseconds
        while let deadline = lookup.nextDeadline, deadline <= origin + .milliseconds(target) {
            elapsedMilliseconds = Int((deadline - origin) / .milliseconds(1))
            handle(.timePassed)
        }
        elapsedMilliseconds = target
    }

    mutating func runToTheEnd() {
        for _ in 0..<100 where results == 0 { advance(100) }
    }

    mutating func receive(_ exchange: Int, _ reply: Reply) {
        guard queries.indices.contains(exchange) else { return }
        handle(.received(exchanges[exchange], message(reply, to: queries[exchange])))
    }

    mutating func fail(_ exchange: Int, _ failure: FetchFailure) {
        guard exchanges.indices.contains(exchange) else { return }
        handle(.failed(exchanges[exchange], failure))
    }

    private mutating func handle(_ event: NameserverLookup.Event) {
        var actions: [NameserverLookup.Action] = []
        lookup.handle(
            event, now: origin + .milliseconds(elapsedMilliseconds), &standings, randomness: &randomness,
            actions: &actions)
        for action in actions {
            log.append("\(elapsedMilliseconds)ms " + perform(action))
        }
    }

    private mutating func perform(_ action: NameserverLookup.Action) -> String {
        switch action {
        case .sendDatagram(let id, let server, let message): return open(id, "datagram", server, message)
        case .openStream(let id, let server, let message): return open(id, "stream", server, message)
        case .close(let id):
            closed.append(id.number)
            return "close \(id.number)"
        case .finished(let result):
            results += 1
            endedAtMilliseconds = elapsedMilliseconds
            switch result {
            case .success(let answer): return "answer \(answer.kind)"
            case .notServed: return "refused"
            case .omitted: return "omitted"
            case .nameFailed(let failure): return "replied \(failure.responseCode)"
            case .failure(let failure): return "failed \(failure)"
            }
        }
    }

    private mutating func open(
        _ id: NameserverLookup.ExchangeID, _ kind: String, _ server: Nameserver, _ message: [UInt8]
    ) -> String {
        #expect(id.number == queries.count)
        queries.append(message)
        exchanges.append(id)
        let letter = Unicode.Scalar(UInt8(ascii: "a") + (server.address.bytes.last ?? 0))
        return "\(kind) \(id.number) to \(letter)"
    }

    private func message(_ reply: Reply, to query: [UInt8]) -> [UInt8] {
        var bytes = query
        bytes[2] = 0x81
        bytes[3] = 0x80
        // A reply does not repeat the query's OPT record.
        let plain = UpstreamQuery.message(for: lookup.question, id: 0, payloadSize: nil)
        bytes.removeLast(bytes.count - plain.count)
        bytes[11] = 0
        let record: [UInt8] = [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 9]
        switch reply {
        case .addresses: bytes = withAnswer(record, bytes)
        case .noData: break
        case .noSuchName: bytes[3] |= 3
        case .truncated: bytes[2] |= 2
        case .serverFailure: bytes[3] |= 2
        case .refused: bytes[3] |= 5
        case .formatError: bytes[3] |= 1
        case .bareFormatError:
            bytes = Array(bytes.prefix(12))
            bytes[3] |= 1
            bytes[5] = 0
        case .referral:
            bytes += [0, 0, 2, 0, 1, 0, 0, 0, 60, 0, 1, 0]
            bytes[9] = 1
        case .malformed: bytes = withAnswer(Array(record.dropLast()), bytes)
        case .otherID:
            bytes = withAnswer(record, bytes)
            bytes[1] ^= 1
        case .otherName:
            bytes = withAnswer(record, bytes)
            bytes[13] ^= 1
        case .truncatedOtherID:
            bytes[2] |= 2
            bytes[0] ^= 1
        case .ourOwnQuery: return query
        case .junk: return [1, 2, 3]
        }
        return bytes
    }

    private func withAnswer(_ record: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var message = message + record
        message[7] = 1
        return message
    }
}
