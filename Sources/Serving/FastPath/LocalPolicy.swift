// Local policy that decides about a question before the cache. Components that predict a client's answer use it, too,
// so that it is the only place for these decisions.

package import DNSWire

package enum LocalPolicy: Equatable, Sendable {
    /// The query is not a stub resolver's.
    case refused(ResponseCode)
    /// A local answer: about the daemon, or RFC 8482's minimal answer to ANY.
    case ownAnswer
    /// No data to AAAA while no IPv6 route exists. Queries with DO are excepted: the proof of no data would be missing.
    case filteredFamily

    /// TTL of such a reply: an IPv6 route may appear at any time.
    package static let filteredTTLSeconds: UInt32 = 10

    /// Decides about a received, valid query. Nil: the cache is looked up.
    @inline(__always)
    init?(_ query: Query, in packet: Span<UInt8>, _ serving: ServingState) {
        if query.recordClass == Query.classCH || query.type == .any {
            self = .ownAnswer
        } else if query.type == .aaaa, serving.filtersAAAA, !query.dnssec.contains(.dnssecOK),
            !query.asksSingleLabel(in: packet)
        {
            self = .filteredFamily
        } else {
            return nil
        }
    }

    /// Decides about a question of class IN as if a client on this machine asked.
    package init?(_ question: Question, _ serving: ServingState) {
        let packet = UpstreamQuery.message(for: question, id: 0)
        switch Query.receive(packet.span) {
        case .query(let query): self.init(query, in: packet.span, serving)
        case .rejection(_, let code): self = .refused(code)
        case .drop: self = .refused(.formatError)
        }
    }
}

extension RenderedAnswer {
    /// No data, with a SOA record whose owner is a pointer to the question, so that it fits every question.
    static let filteredFamily: RenderedAnswer = {
        guard let name = Name("localhost") else { preconditionFailure("a name") }
        let authority = ResourceRecord.startOfAuthority(of: name, ttlSeconds: LocalPolicy.filteredTTLSeconds)
        return RenderedAnswer(Answer(negative: .noData, authority: authority), to: Question(name, .aaaa))
    }()
}

/// Local answers: CHAOS version.bind and id.server for loopback clients, and RFC 8482's minimal answer to ANY.
struct OwnAnswer {
    private let answer: RenderedAnswer?

    /// TTL of the reply to ANY, which RFC 8482 section 4.2 leaves open; long enough that a client does not ask again at
    /// once.
    private static let anyTTLSeconds: UInt32 = 3600

    /// - Parameter query: a query that `LocalPolicy` answers locally.
    init(_ query: Query, in packet: Span<UInt8>, version: String) {
        let name = query.name(in: packet)
        answer =
            query.recordClass == Query.classCH ? OwnAnswer.chaos(name, version: version) : OwnAnswer.minimalAny(name)
    }

    /// Writes the reply. Other CHAOS names, and CHAOS from other machines, are refused: a reply would tell an attacker
    /// which software runs here.
    func write(
        to query: Query, in packet: Span<UInt8>, from client: Address, into output: inout OutputSpan<UInt8>
    ) -> FastPath.Outcome {
        guard let answer, query.recordClass != Query.classCH || client.isLoopback else {
            Reply.write(code: .refused, to: query, in: packet, into: &output)
            return .refused(.refused)
        }
        Reply.write(
            Reply.Body(answer), to: query, in: packet, ageSeconds: 0, limit: EDNS.minPayloadBytes, into: &output)
        return .local
    }

    private static func chaos(_ name: Name, version: String) -> RenderedAnswer? {
        let text: String
        switch name.description.lowercased() {
        case "version.bind": text = "httpdnsd \(version)"
        case "id.server": text = "httpdnsd"
        default: return nil
        }
        return render(
            [UInt8(text.utf8.count)] + Array(text.utf8), .txt, name, ttlSeconds: 0, recordClass: Query.classCH)
    }

    private static func minimalAny(_ name: Name) -> RenderedAnswer {
        let cpu = Array("RFC8482".utf8)
        return render([UInt8(cpu.count)] + cpu + [0], .hinfo, name, ttlSeconds: anyTTLSeconds)
    }

    private static func render(
        _ data: [UInt8], _ type: RecordType, _ name: Name, ttlSeconds: UInt32, recordClass: UInt16 = Query.classIN
    ) -> RenderedAnswer {
        let record = ResourceRecord(owner: name, type: type, ttlSeconds: ttlSeconds, data: data)
        return RenderedAnswer(Answer(records: [record]), to: Question(name, type), recordClass: recordClass)
    }
}
