// Everything that can happen to the resolver, on one screen.

package import DNSWire

package enum Event: Sendable {
    /// A client's question that the cache could not answer, with what it holds beyond its time.
    case asked(Question, Waiter, expired: AgedAnswer?)
    /// The cache gave an answer that is near its end, for the first time.
    case foundDue(Question)
    /// The cache gave an answer that was awaited: `awaitAsk`.
    case givenAgain(Question)
    /// Another part of the cache is served, and these clients have their answer from there.
    case answeredFromCache([Waiter])
    /// What `countHits` asked for.
    case hitsCounted([(question: Question, hits: Int)])
    /// To be there before somebody asks.
    case wanted([Question])
    /// What the cache held when it was loaded from the store, as far as it was in use.
    case restored([RestoredAnswer])
    /// The operator wants nothing to be remembered about these.
    case forgotten(QuestionScope)
    /// A fetch ended. One that was abandoned may still report; that is ignored.
    case fetchFinished(FetchID, FetchResult)
    /// What a provider said beside the questions that it was asked: the other family of a name.
    case volunteered(Question, Answer, ProviderID)
    /// A probe ended. Each that was begun ends once.
    case probeFinished(ProbeID, ProbeResult)
    /// Somebody wants to know about this address of a name now; nil: about all of them. Told by `probeNews`.
    case probeWanted(Name, Address?)
    /// The names that are kept from the providers for now, and everything under them; until when, nil for no end. The
    /// root is all names.
    case switchedOff([Name: Instant?])
    /// A provider wants to be left alone for so long. Comes before the `fetchFinished` that tells of it; without this
    /// one a failure by throttling has a pause of our own.
    case throttled(ProviderID, for: Duration)
    /// Forget what was measured, and every back-off, block and pause; nil for all providers.
    case providerReset(ProviderID?)
    /// The set of upstreams, at start and after a change of settings or network. Providers that stay keep their ID,
    /// and with it what was learned about them.
    case upstreamsChanged(providers: [ProviderTraits], hasSystem: Bool)
    case policyChanged(Policy)
    case hostsChanged(HostsTable)
    /// Somebody answered in a provider's place, or for a check name, and sent us to this host.
    case redirected(Name)
    case network(NetworkNews)
    /// The NAT64 prefixes of the network in use, the best first. Comes with every other network, too.
    ///
    /// - Parameter synthesises: names without an IPv6 address are given one by these.
    case translation([TranslationPrefix], synthesises: Bool)
    /// The instant in `nextDeadline` has come.
    case timePassed
}

package struct RestoredAnswer: Sendable {
    let question: Question
    let demandPerSecond: Double
    let lifetimeSeconds: UInt32
    let expiresAt: Instant
    let isNegative: Bool
    /// The system resolver's.
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

/// A client that waits for a reply; the number means something to whoever asked.
package struct Waiter: Hashable, Sendable {
    package let number: UInt64
    /// Whose lookups this question is counted with; nil for the daemon's own questions.
    package let client: ClientID?

    package init(_ number: UInt64, of client: ClientID? = nil) {
        self.number = number
        self.client = client
    }
}

/// One request to one upstream. Never used twice.
package struct FetchID: Hashable, Sendable {
    package let number: UInt64
}

package struct ProviderID: Hashable, Sendable {
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
    /// Names that one request can carry.
    package let maxNames: Int
    /// One request can carry both families of its names.
    package let asksBothFamilies: Bool
    /// Questions that refreshes may put to it per second.
    package let budgetPerSecond: Int
    /// All questions that it is to have per second, clients' included, while anybody else can serve; nil: no bound.
    package let questionsPerSecond: Int?
    /// Its answers are compared with those that are used, and never used themselves: for so large a share of the
    /// lookups, from 0 to 1. Nil: an ordinary provider.
    package let shadowShare: Double?
    /// It proves by TLS who it is.
    package let verifies: Bool

    package init(
        id: ProviderID, types: Types, maxNames: Int = 1, asksBothFamilies: Bool = false, budgetPerSecond: Int = 100,
        questionsPerSecond: Int? = nil, shadowShare: Double? = nil, verifies: Bool = true
    ) {
        self.id = id
        self.types = types
        self.maxNames = maxNames
        self.asksBothFamilies = asksBothFamilies
        self.budgetPerSecond = budgetPerSecond
        self.questionsPerSecond = questionsPerSecond
        self.shadowShare = shadowShare
        self.verifies = verifies
    }

    func supports(_ type: RecordType) -> Bool {
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

/// Why a fetch gave no answer, in the words that statistics use.
package enum FetchFailure: String, Error, Hashable, Sendable, CaseIterable {
    /// The address did not take the connection.
    case refused
    /// No route.
    case unreachable
    /// No reply in time on a connection whose peer acknowledges what is sent: it concerns the name.
    case timeout
    /// The peer's kernel did not acknowledge what was sent: the path or the peer is dead.
    case unacknowledged
    /// No TLS session, or not with the right peer.
    case tls
    /// The connection ended before the reply did.
    case reset
    /// An HTTP status that is neither 200 nor a redirect.
    case status
    /// HTTP sends us elsewhere.
    case redirected
    /// The upstream asks us to ask less.
    case throttled
    /// What came is not a reply to the question.
    case garbage
    /// The upstream can't serve any name: a node of another account, a server that does not recurse.
    case server
    /// A bound of our own was reached.
    case overload
    /// The upstream does not serve our account.
    case account
    /// The upstream finds our time wrong, even after it was put right.
    case clock
    /// This upstream can't be asked this question.
    case unsupported

    /// No reply came, whoever is at fault: it may be the path.
    var isUnheard: Bool {
        switch self {
        case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset: true
        case .status, .redirected, .throttled, .garbage, .server, .overload, .account, .clock, .unsupported: false
        }
    }
}
