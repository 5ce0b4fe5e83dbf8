// Everything the resolver can want, on one screen. Carried out by the daemon, in order.

package import DNSWire

package enum Action: Equatable, Sendable {
    /// Ask an upstream; report `fetchFinished` under this ID.
    case fetch(FetchID, Question, Upstream)
    /// The result is no longer wanted.
    case abandon(FetchID)
    /// Keep this answer; its TTLs are as they should be kept.
    case store(Question, Answer, Source)
    case reply(Waiter, Answer, Source)
    /// SERVFAIL, with the reason.
    case fail(Waiter, ExtendedError)
}

/// Where an answer comes from.
package enum Source: Hashable, Sendable {
    case provider(ProviderID)
    case system
    /// The daemon's own knowledge: special names, /etc/hosts.
    case local
}
