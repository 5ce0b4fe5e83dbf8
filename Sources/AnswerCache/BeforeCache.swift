// Local policy that decides about a question before the cache. Components that predict a client's answer use it, too,
// so that it is the only place for these decisions.

package import DNSWire

package enum BeforeCache: Equatable, Sendable {
    /// Not a stub resolver's query.
    case refused(ResponseCode)
    /// A local answer: about the daemon, or RFC 8482's minimal answer to ANY.
    case ownAnswer
    /// AAAA while no IPv6 route exists: no data.
    case filteredFamily

    /// Decides about a received, valid query. Nil: the cache is looked up.
    @inline(__always)
    init?(_ query: Query, in packet: Span<UInt8>, _ view: ServingView) {
        if query.recordClass == Query.classCH || query.type == .any {
            self = .ownAnswer
        } else if query.type == .aaaa, view.filtersAAAA, !query.asksSingleLabel(in: packet) {
            self = .filteredFamily
        } else {
            return nil
        }
    }

    /// Decides about a question of class IN as if a client on this machine asked.
    package init?(_ question: Question, _ view: ServingView) {
        let packet = UpstreamQuery.message(for: question, id: 0)
        switch Query.receive(packet.span) {
        case .query(let query): self.init(query, in: packet.span, view)
        case .rejection(_, let code): self = .refused(code)
        case .drop: self = .refused(.formatError)
        }
    }
}
