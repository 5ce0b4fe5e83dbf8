// Inputs of the resolver: every event that it handles, with the identifiers that they use.

package import DNSWire

package enum Event: Sendable {
    /// A client's question that the cache could not answer, with the expired answer from the cache, if any.
    ///
    /// - Parameters:
    ///   - preferred: the cached answer to `preferredQuestion(over:)`, fresh or expired.
    ///   - isCacheOnly: RD=0: no upstream may be asked.
    case asked(
        Question, Waiter, expired: AgedAnswer?, preferred: AgedAnswer? = nil, isCacheOnly: Bool = false)
    /// The cache gave an answer near its expiry for the first time.
    case prefetchDue(Question)
    /// The cache gave an answer marked by `awaitAsk`.
    case servedAgain(Question)
    /// These clients were answered from another cache partition after a network change.
    case answeredFromCache([Waiter])
    /// Hit counts requested by `countHits`.
    case hitsCounted([(question: Question, hits: Int)])
    /// Questions to resolve before a client asks.
    case requested([Question])
    /// Answers in recent use that the cache loaded from the store.
    case restored([RestoredAnswer])
    /// Forget the answers to these questions, at the operator's request.
    case forgotten(QuestionScope)
    /// The same, and ask again what is in flight: those answers are as old as their questions.
    case flushed(QuestionScope)
    /// A fetch ended. Results of abandoned fetches are ignored.
    case fetchFinished(FetchID, FetchResult)
    /// The fetch waits for a place at its provider, or for another one. Leads to `fetchSent` or `fetchFinished`.
    ///
    /// - Parameter isOverdue: it was sent, and gave its place up because its reply is overdue.
    case fetchWaits(FetchID, isOverdue: Bool)
    /// The fetch is not sent before the fleet allows it. Leads to one of the following three.
    case fetchAwaitsFleet(FetchID)
    /// The fetch is sent now.
    case fetchSent(FetchID)
    /// Another member of the fleet got this answer from the provider of the fetch. Ends the fetch if it was not sent;
    /// otherwise it is as `volunteered`.
    case fetchShared(FetchID, Answer)
    /// The budget of the provider that the fleet shares is used up until then. Ends the fetch.
    case fetchDeferred(FetchID, until: Instant)
    /// Queries per second that other members of the fleet have for the question.
    case demandElsewhere(Question, perSecond: Double)
    /// Another member of the fleet has found that this address of the name is forged.
    case evidence(Name, Address)
    /// An unsolicited answer in a provider's reply: the other address family of a name.
    case volunteered(Question, Answer, ProviderID)
    /// A probe ended. Each started probe ends once.
    case probeFinished(ProbeID, ProbeResult)
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
    case translation([NAT64Prefix], synthesises: Bool)
    /// The instant in `nextDeadline` has passed.
    case timePassed
}

package struct RestoredAnswer: Sendable {
    let question: Question
    let demandPerSecond: Double
    let lifetimeSeconds: UInt32
    let expiresAt: Instant
    let isNegative: Bool
    /// The answer came from the system resolver.
    let isSystems: Bool

    package init(
        _ question: Question, demandPerSecond: Double, lifetimeSeconds: UInt32, expiresAt: Instant, isNegative: Bool,
        isSystems: Bool = false
    ) {
        self.question = question
        self.isNegative = isNegative
        self.isSystems = isSystems
        self.demandPerSecond = demandPerSecond
        self.lifetimeSeconds = lifetimeSeconds
        self.expiresAt = expiresAt
    }
}

/// A client that waits for a reply. The sender of the event assigns the number.
package struct Waiter: Hashable, Sendable {
    package let number: UInt64
    /// The client that this question counts against; nil for the daemon's own questions.
    package let client: ClientID?
    /// No client waits, but a refresh of the name's other address family.
    let isForRefresh: Bool

    package init(_ number: UInt64, of client: ClientID? = nil) {
        self.init(number, of: client, isForRefresh: false)
    }

    init(_ number: UInt64, of client: ClientID?, isForRefresh: Bool) {
        self.number = number
        self.client = client
        self.isForRefresh = isForRefresh
    }
}

/// Identifies one request to one upstream. Never reused.
package struct FetchID: Hashable, Sendable {
    package let number: UInt64
}

package struct ProviderID: Hashable, Sendable {
    /// No provider has it.
    package static let none = ProviderID(.min + 1)
    /// Stands for the providers of a client's view where the settings or the operator keep a name from them.
    package static let noneOfView = ProviderID(.min + 2)

    package let number: Int

    package init(_ number: Int) {
        self.number = number
    }
}

package struct ProviderTraits: Hashable, Sendable {
    package enum Types: Hashable, Sendable {
        case a
        case addresses
        case listed(Set<RecordType>)
        case any
    }

    package let id: ProviderID
    package let types: Types
    /// Maximum number of names in one request.
    package let maxNames: Int
    /// One request can ask for both address families of its names.
    package let asksBothFamilies: Bool
    /// Requests that its connections carry at once, as far as known before the first connection.
    package let parallelRequests: Int
    /// Maximum number of refresh questions per second.
    package let budgetPerSecond: Int
    /// Maximum number of questions per second, clients' included, while another upstream can serve; nil: unlimited.
    package let questionsPerSecond: Int?
    /// What a question does when the provider's budget or quota is used up.
    package let whenUsedUp: WhenUsedUp
    /// Share of lookups, from 0 to 1, in which this provider's answers are compared with those in use and never used
    /// themselves. Nil: an ordinary provider.
    package let shadowShare: Double?
    /// The provider is authenticated by TLS.
    package let verifies: Bool
    /// It is asked only for the names that belong to it (`AccountTable`), and for names that a rule sends to it.
    package let hasOwnNames: Bool
    /// Its format has CNAME records.
    package let carriesAliases: Bool
    /// Its format has DO and CD, signatures, and the records that prove a denial.
    package let carriesDNSSEC: Bool
    /// The vendor counts its questions for the account's bill, and may serve only names that are registered for it: it
    /// is measured in the background at intervals only.
    package let isBilled: Bool
    /// It may be asked because another provider is late, before that one fails.
    package let mayHedge: Bool
    /// The operator's nameserver, asked over DNS for names that a rule sends to it. It is no provider in any other
    /// respect: its outages, recoveries and measurements say nothing about the others.
    package let isNameserver: Bool
    /// Timeout of one request, connection setup included.
    package let timeout: Duration

    package init(
        id: ProviderID, types: Types, maxNames: Int = 1, asksBothFamilies: Bool = false, parallelRequests: Int = 100,
        budgetPerSecond: Int = 100, questionsPerSecond: Int? = nil, whenUsedUp: WhenUsedUp = .next,
        shadowShare: Double? = nil, verifies: Bool = true, hasOwnNames: Bool = false, carriesAliases: Bool = true,
        carriesDNSSEC: Bool = false, isBilled: Bool = false,
        mayHedge: Bool = true, isNameserver: Bool = false, timeout: Duration = Bounds.providerTimeout
    ) {
        self.id = id
        self.types = types
        self.maxNames = maxNames
        self.asksBothFamilies = asksBothFamilies
        self.parallelRequests = parallelRequests
        self.budgetPerSecond = budgetPerSecond
        self.questionsPerSecond = questionsPerSecond
        self.whenUsedUp = whenUsedUp
        self.shadowShare = shadowShare
        self.verifies = verifies
        self.hasOwnNames = hasOwnNames || isNameserver
        self.carriesAliases = carriesAliases
        self.carriesDNSSEC = carriesDNSSEC || isNameserver
        self.isBilled = isBilled
        self.mayHedge = mayHedge
        self.isNameserver = isNameserver
        self.timeout = timeout
    }

    func supports(_ kind: QuestionKind) -> Bool { (carriesDNSSEC || !kind.needsDNSSEC) && supports(kind.type) }

    private func supports(_ type: RecordType) -> Bool {
        switch types {
        case .a: type == .a
        case .addresses: type.isAddress
        case .listed(let types): types.contains(type)
        case .any: true
        }
    }
}

package enum Upstream: Hashable, Sendable {
    case provider(ProviderID)
    case system
}

/// Reason why a fetch gave no answer. The raw values appear in statistics.
package enum FetchFailure: String, Error, Hashable, Sendable, CaseIterable {
    /// The address refused the connection.
    case refused
    /// No route.
    case unreachable
    /// No reply in time although the peer acknowledges the data sent: a failure of the name.
    case timeout
    /// The peer did not acknowledge the data sent: the path or the peer is down.
    case unacknowledged
    /// The TLS handshake failed, or the peer has the wrong identity.
    case tls
    /// The connection closed before the reply was complete.
    case reset
    /// An HTTP status that is neither 200 nor a redirect.
    case status
    /// An HTTP redirect.
    case redirected
    /// The upstream reports that the rate limit is exceeded.
    case throttled
    /// The data received is not a reply to the question.
    case garbage
    /// The upstream cannot serve any name: a node of another account, or a server that does not recurse.
    case server
    /// A limit of the daemon was reached.
    case overload
    /// The upstream rejects the account.
    case account
    /// The upstream rejects the request's time, even after the clock offset was corrected.
    case clock
    /// This upstream does not support the question.
    case unsupported

    /// A reply of the provider arrived that has no answer, and whose cause may be the provider's alone.
    ///
    /// - Parameter mayBePortals: a redirect or garbage may come from a captive portal in the provider's place.
    func isOfService(mayBePortals: Bool) -> Bool {
        switch self {
        case .status, .throttled, .server, .account, .clock: true
        case .redirected, .garbage: !mayBePortals
        case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset, .overload, .unsupported: false
        }
    }

    /// No reply arrived; the cause may be the path.
    var isUnheard: Bool {
        switch self {
        case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset: true
        case .status, .redirected, .throttled, .garbage, .server, .overload, .account, .clock, .unsupported: false
        }
    }
}
