// The upstreams' reports to the daemon, in the order in which they happened.

package import Control
package import DNSWire
package import Resolver

/// Most are events; those that are larger are indirect.
package enum UpstreamOutput {
    /// An event for the resolver.
    case event(Event)
    /// The fleet leaves a fetch to this member: pass it to `Upstreams.ask`.
    indirect case ask(FleetRequest)
    /// The fleet has flushed these answers.
    case flush(QuestionScope)
    /// The other members are to be told about this one: `FleetLink.announce` is due.
    case presenceDue
    /// The addresses that providers reported for this machine, after the results of the same replies.
    case exits([ReportedExit])
    /// News that address lists and bills are made of: pass it to `Upstreams.take`.
    case provider(ProviderNews)
    /// The sums of billed questions are others: `Billing.sumsChanged` is due.
    case billedSums
    /// A note for the store.
    ///
    /// - Parameter text: nil: removes the note.
    case note(name: String, text: String?)
    case requestFailed(provider: String, reason: String)
    case providerUnresolved(name: String, host: String)
    case providerResolved(name: String, host: String, [String])
    case quota(QuotaWarning)
    /// A server of the system forwards queries back to this daemon.
    indirect case loops(Nameserver)
    indirect case askedAgain(Nameserver)
    /// A server of the system replies differently than before.
    indirect case standing(NameserverStandings.News)
    case redisLost(server: String, reason: String)
    case redisWorks(server: String)
}

package protocol UpstreamOutbox: AnyObject {
    /// May be called at any time: in a call, at a deadline, or when a descriptor is ready.
    func report(_ output: consuming UpstreamOutput)
}
