// A client's bytes, through the fast path over a filled cache: as a datagram, on a stream, and from a client without
// access.

import DNSWire
import Serving
import TestSupport

extension FuzzEntry {
    package static let query = FuzzEntry(name: "Query") { bytes in
        let loopback = ServingStand.loopback
        check(bytes, from: loopback, over: .udp)
        check(bytes, from: loopback, over: .tcp)
        check(bytes, from: .v4(0xC633_6401), over: .udp)
        check(bytes, from: neighbour, over: .tcp, gate: openGate)
        // The gate answers the first query; the second one is over the limit.
        let gate = gate(clientRate: 1)
        for _ in 0..<2 { check(bytes, from: neighbour, over: .udp, gate: gate) }
    }

    private static let neighbour = Address.v4(0xC0A8_0001)
    private static let openGate = gate(clientRate: nil)

    private static func gate(clientRate: Int?) -> ClientRateLimit {
        ClientRateLimit(
            ClientRateLimit.Rates(client: clientRate, prefix: nil), seed: (1, 2), cookieSecret: (3, 4),
            secondsAtBoot: 1_700_000_000)
    }

    private static let partition = Partition(rawValue: 1)
    private static let access = AccessList(["127.0.0.0/8", "192.168.0.0/16"].compactMap { Prefix($0) })

    /// A cache with the names of the seeds: more records than a datagram holds, a few records, none, and a non-existent
    /// name.
    private static let cache: AnswerCache = {
        let cache = AnswerCache(limitBytes: 4 << 20, seed: (1, 2))
        keep(100, of: "www.example.com", .a, in: cache)
        keep(2, of: "www.example.com", .aaaa, in: cache)
        keep(1, of: "www.example.com", .https, in: cache)
        keep(5, of: ".", .ns, in: cache)
        for (text, kind) in [("example.com", Answer.Kind.noData), ("none.example", .noSuchName)] {
            guard let name = Name(text) else { preconditionFailure("the name is one") }
            store(Answer(negative: kind), Question(name, .a), in: cache)
        }
        return cache
    }()

    private static func keep(_ count: Int, of text: String, _ type: RecordType, in cache: AnswerCache) {
        guard let name = Name(text) else { preconditionFailure("the name is one") }
        let record = ResourceRecord(owner: name, type: type, ttlSeconds: 300, data: [192, 0, 2, 1])
        store(Answer(records: Array(repeating: record, count: count)), Question(name, type), in: cache)
    }

    private static func store(_ answer: Answer, _ question: Question, in cache: AnswerCache) {
        cache.store(
            RenderedAnswer(answer, to: question), lifetimeSeconds: answer.ttlSeconds, for: question,
            partition: partition, sourceClass: .provider, nowMilliseconds: 0)
    }

    private static func check(
        _ packet: [UInt8], from client: Address, over transport: Transport, gate: ClientRateLimit? = nil
    ) {
        let serving = ServingState(partition, seed: 1)
        var path = FastPath(cache: cache, access: access, serving: serving, gate: gate, version: ServingStand.version)
        var outcome = FastPath.Outcome.dropped(.short)
        let room = transport.isStream ? StreamFraming.maxMessageBytes : EDNS.ourPayloadBytes
        let reply = [UInt8](capacity: room) { output in
            outcome = path.respond(
                to: packet.span, from: client, over: transport, nowMilliseconds: 7_000, into: &output)
        }
        let fault = ReplyShape.fault(of: reply, outcome, to: packet, isStream: transport.isStream)
        precondition(fault == nil, "\(outcome): \(fault ?? "")")
        switch outcome {
        case .answered, .answeredAndDue, .answeredAwaited, .local, .miss:
            precondition(client.isLoopback || client == neighbour, "a stranger is refused")
        case .refused, .limited, .dropped: break
        }
    }
}
