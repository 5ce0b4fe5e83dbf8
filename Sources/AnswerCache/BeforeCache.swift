// What a question gets before the cache is looked at. Whoever says what a client would get asks here, too; nothing
// else may decide it a second time.

package import DNSWire

package enum BeforeCache: Equatable, Sendable {
    /// Nothing a stub asks.
    case refused(ResponseCode)
    /// A reply of our own: about ourselves, or RFC 8482's minimal answer to ANY.
    case ownAnswer
    /// AAAA while no IPv6 route leads out: no data.
    case filteredFamily

    /// Of a question that was received, and not rejected on the way. Nil: the cache is looked at.
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

    /// Of class IN, as if it came from a client on this machine.
    package init?(_ question: Question, _ view: ServingView) {
        let packet = UpstreamQuery.message(for: question, id: 0)
        switch Query.receive(packet.span) {
        case .query(let query): self.init(query, in: packet.span, view)
        case .rejection(_, let code): self = .refused(code)
        case .drop: self = .refused(.formatError)
        }
    }
}
