// Inputs of the resolver: every event that it handles.

package import DNSWire

package enum Event: Sendable {
    /// A client's question that the cache could not answer.
    ///
    /// - Parameters:
    ///   - isCacheOnly: RD=0: no upstream may be asked.
    ///   - isUncached: the cache is known to have no entry for the question.
    case asked(Question, Waiter, isCacheOnly: Bool = false, isUncached: Bool = false)
    /// The cache gave an answer near its expiry for the first time.
    case prefetchDue(Question)
    /// The cache gave an answer marked by `awaitAsk`.
    case servedAgain(Question)
    /// These clients were answered from another cache partition after a network change.
    case answeredFromCache([Waiter])
    /// Questions to resolve before a client asks.
    case requested([Question])
    /// Answers in recent use that the cache loaded from the store.
    case restored([RestoredAnswer])
    /// Forget the answers to these questions, at the operator's request.
    case forgotten(QuestionScope)
    /// Forget these answers, and repeat the lookups in flight: their answers may be older than the flush.
    case flushed(QuestionScope)
    /// A fetch ended. Results of abandoned fetches are ignored.
    case fetchFinished(FetchID, FetchResult)
    /// The fetch waits for a place at its provider, or for another place. Leads to `fetchSent` or `fetchFinished`.
    ///
    /// - Parameter isOverdue: the fetch was sent, and gave up its place because its reply is overdue.
    case fetchWaits(FetchID, isOverdue: Bool)
    /// The fetch is not sent before the fleet allows it. Leads to one of the following three.
    case fetchAwaitsFleet(FetchID)
    /// The fetch is sent now.
    case fetchSent(FetchID)
    /// Another member of the fleet got this answer from the provider of the fetch. Ends the fetch if it was not sent;
    /// otherwise it is as `volunteered`.
    case fetchShared(FetchID, Answer)
    /// The fleet's budget of the provider is used up until this instant. Ends the fetch.
    case fetchDeferred(FetchID, until: Instant)
    /// Queries per second that other members of the fleet have for the question.
    case demandElsewhere(Question, perSecond: Double)
    /// Another member of the fleet has found that this address of the name is forged.
    case evidence(Name, Address)
    /// An unsolicited answer in a provider's reply: the other address family of a name.
    case volunteered(Question, Answer, ProviderID)
    /// A probe ended. Each started probe ends once.
    indirect case probeFinished(ProbeID, ProbeResult)
    /// A request to probe this address of a name now; nil: all its addresses. `probeNews` reports the results.
    case probeRequested(Name, Address?, isCached: Bool = false)
    /// Names, with all their subdomains, that are temporarily not sent to providers, and until when; nil for no end.
    /// The root means all names.
    case switchedOff([Name: Instant?])
    /// A provider asked for a pause of this length. Precedes its `fetchFinished`. A throttling failure without this
    /// event causes the resolver's own pause.
    case throttled(ProviderID, for: Duration)
    /// The provider's account has used up its quota until this instant, or has not (nil).
    case overQuota(ProviderID, until: Instant?)
    /// The provider's kernel has acknowledged no data of a request over two connections within 500 ms: the path is
    /// interrupted. The request continues.
    case unacknowledged(ProviderID)
    /// Resets measurements, back-offs, blocks and pauses of a provider; nil for all providers.
    case providerReset(ProviderID?)
    /// The upstreams, at start and after a change of settings or network. Remaining providers keep their ID and what
    /// was learned about them.
    case upstreamsChanged(providers: [ProviderTraits], hasSystem: Bool)
    /// Indirect: a policy is larger than every other event.
    indirect case policyChanged(Policy)
    case hostsChanged(HostsFiles)
    /// Leases were given, renewed or ended, or the wall clock was set.
    ///
    /// - Parameter new: the labels and reverse names without a lease before.
    case leasesChanged(Leases, new: Set<Name>)
    /// An HTTP redirect to this host, received in place of a provider's reply or for a check name.
    case redirected(Name)
    case network(NetworkEvent)
    /// NAT64 prefixes of the current network, best first. Sent with each network change, too.
    ///
    /// - Parameter synthesises: names without an IPv6 address get addresses with these prefixes (DNS64).
    case nat64Prefixes([NAT64Prefix], synthesises: Bool)
    /// What the audit counted about a provider before the restart.
    indirect case auditRestored(ProviderID, AuditHistory)
    /// The instant in `nextDeadline` has passed.
    case timePassed
}
