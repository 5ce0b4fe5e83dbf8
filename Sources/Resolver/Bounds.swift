// Every limit and deadline of this module, each with its reason.

package typealias Instant = ContinuousClock.Instant

package enum Bounds {
    /// Questions in flight. A lookup holds a few hundred bytes and up to four requests; more than this many misses at
    /// once on one machine is an attack or a loop.
    package static let maxLookups = 1024
    /// One domain or one client holds at most this part of the places for lookups and for requests: seven that hang
    /// leave room for all others.
    static let shareDivisor = 8
    /// Requests to providers in flight, each with a socket or a stream of one and some 30 KiB.
    package static let maxRequests = 256
    /// A request that finds no place waits for one as long as an answer usually takes, within these limits, and longer
    /// where other domains hold the places: until theirs are overdue. Then its question fails.
    static let queueFloor: Duration = .milliseconds(50)
    static let queueCeiling: Duration = .milliseconds(400)
    /// A request gives its place to another domain's after so many times what an answer usually takes, within these
    /// limits: a new connection takes four times.
    static let overdueFactor = 4
    static let overdueFloor: Duration = .milliseconds(100)
    static let overdueCeiling: Duration = .milliseconds(1000)
    /// To one of its own domain it gives its place after this: few answers come so late.
    static let hopelessAfter: Duration = .milliseconds(2500)
    /// A domain is slow for so long after a request for it was given up while the provider answered others. All slow
    /// domains together hold half of a provider's places at most.
    static let slowDomainMemory: Duration = .seconds(10)
    /// Domains of which that is remembered; more at once have no advantage from being forgotten early.
    static let maxSlowDomains = 1024
    /// Clients that wait for one question: room for a burst of a whole busy host.
    package static let maxWaiters = 2048
    /// Providers asked for one question, the hedge included (field.md 7b: bounded fan-out).
    static let maxProviderAttempts = 3

    /// Stub resolvers give up at 5 s (resolv.conf's default time-out): our failure must be there before.
    static let answerWithin: Duration = .milliseconds(4500)
    /// One request to a provider, connection included.
    package static let providerTimeout: Duration = .milliseconds(3000)
    /// A provider's address that is silent for so many times what it usually takes, within these limits, is doubted,
    /// and another one asked as well. The kernel repeats after 200 ms and more what was not acknowledged: when that is
    /// not either, it is no single packet that was lost.
    static let silenceFactor = 3
    static let silenceFloor: Duration = .milliseconds(250)
    static let silenceCeiling: Duration = .milliseconds(1500)
    /// For an address that has not been measured.
    static let silenceUnmeasured: Duration = .milliseconds(500)
    /// Addresses of a provider that a request goes to, one after the other.
    static let maxAddressesPerRequest = 3
    /// Fetches wait so long for others to share their request: far less than any request takes.
    static let gatherWithin: Duration = .milliseconds(1)
    /// Room for each of 32 providers and both families; with more, the oldest leaves early.
    static let maxOpenBatches = 64
    /// When nothing has come from the providers, the system resolver is asked as well: after so many times what the
    /// slowest of them usually takes, within these limits; at the latest where one was not measured. What takes less
    /// than the first is not to be told to the system resolver.
    static let systemHedgeFactor = 4
    static let systemHedgeFloor: Duration = .milliseconds(300)
    static let systemHedge: Duration = .milliseconds(1000)
    /// When the system resolver is asked, and how long its answer waits, while connections to all providers fail. An
    /// outage must not cost each new name `Policy.systemPatience`; a provider that is back still has time
    /// for a new connection.
    static let systemHedgeInTrouble: Duration = .milliseconds(100)
    static let systemPatienceInTrouble: Duration = .milliseconds(400)
    /// What the system resolver said in a provider's place is kept so long at most: soon the provider is asked again.
    static let systemSubstituteTTLSeconds: UInt32 = 30
    /// Such answers that are withdrawn when a provider is back: what a busy network asks in 30 s of an outage. The rest
    /// ends by itself.
    static let maxSubstitutes = 4096

    /// The second provider is asked when the first one is slower than 95 of 100 of its answers, within these limits.
    static let hedgeFloor: Duration = .milliseconds(30)
    static let hedgeCeiling: Duration = .milliseconds(800)
    /// Every provider of a lookup is asked within this. The last one then has 1 s before the system resolver's answer
    /// is given in its place (`Policy.systemPatience`, 1.8 s).
    static let allAskedWithin: Duration = .milliseconds(800)
    /// For a provider that has not been measured: a TLS connection over a long path takes about so long.
    static let hedgeUnmeasured: Duration = .milliseconds(400)

    /// A failing provider is asked last for a time that doubles from the first to the second value.
    static let backOffFloor: Duration = .seconds(1)
    static let backOffCeiling: Duration = .seconds(30)
    /// The same for one that is not heard at all: where its path was cut it is there again from one moment to the next.
    /// A trial takes 2 s at most (the time for a connection), so that it is noticed within 3.5 s and a question. In a
    /// long outage that is a request every two seconds and more.
    static let unheardBackOffCeiling: Duration = .milliseconds(1500)

    /// A failed provider gets one request in this time while none ends: an outage costs no more, and the trial may be a
    /// name that is broken itself.
    static let trialSpacing: Duration = .seconds(2)

    /// A provider that does not serve our account will not do so soon; its SDKs wait an hour too (providers.md 9.3).
    static let accountBlock: Duration = .seconds(3600)
    /// A provider that wants fewer requests and does not say for how long is left alone for a time that doubles from
    /// the first to the second value. What it says holds up to the last one.
    static let throttleFloor: Duration = .seconds(5)
    static let throttleCeiling: Duration = .seconds(60)
    static let throttleLimit: Duration = .seconds(3600)

    /// Providers that take at most so much longer than the best share the questions with it: by two picks among three
    /// at 10, 12.5 and 15 ms the mean is 10.8 ms. Nobody notices 5 ms.
    static let nearBest = 1.5
    static let nearBestMilliseconds = 5.0
    /// One lookup in so many has another provider measured beside it: 2 % more questions.
    static let lookupsPerExploration = 50
    /// What was tried so lately is known well enough.
    static let explorationPause: Duration = .seconds(10)
    /// The same for whoever is not believed: it is to be believed again soon after it has come back to the truth.
    static let mistrustPause: Duration = .seconds(2)
    /// A system resolver that is not believed waits so long for the providers: until they have timed out.
    static let systemPatienceMistrusted: Duration = .milliseconds(3200)
    /// Fetches beside lookups. As many comparisons wait for their other half.
    static let maxShadowFetches = 64
    /// A lookup ends before.
    static let shadowPatience: Duration = .milliseconds(5000)

    /// Names in /etc/hosts change with the file, which is watched: a short life for what clients keep of it.
    static let hostsTTLSeconds: UInt32 = 10
    /// Names of /etc/hosts that are kept, from the first; block lists of this size exist.
    static let maxHostsEntries = 500_000

    /// How long each nameserver is waited for before the next is asked as well, by round. A cache answers within
    /// 100 ms over any link, a full recursion mostly within a second; late replies are still taken, so that being
    /// early costs a datagram only.
    static let nameserverPatience: [Duration] = [.milliseconds(1000), .milliseconds(2000)]
    /// Two more round trips than a datagram.
    static let nameserverStreamPatience: Duration = .milliseconds(2000)
    /// Wrong replies to one query before it is asked again over a stream. One or two are late or damaged; a forger
    /// needs thousands.
    static let maxForeignReplies = 8

    /// Questions whose demand is remembered, for refreshes: a busy office asks some thousand names within an hour. Half
    /// a kilobyte each.
    static let maxPlanned = 8192
    /// Looked at for one to give up when all places are taken.
    static let planSample = 8
    /// Refreshes in flight; the rest of `maxLookups` is for clients.
    static let maxRefreshes = 256
    /// An answer is fetched ahead when so many asks are expected in its life: about one chance in six that it is read.
    /// A refresh that nobody reads is a request too many, one that is missing makes a client wait.
    static let expectedAsksWorthRefreshing = 0.165
    /// However popular a name was: after so many refreshes in a row that nobody read, it is left alone until it is
    /// asked.
    static let maxUnreadRefreshes = 10
    /// A refresh begins at least this long before the answer's end: time for an upstream that is slower just now.
    static let refreshLeadFloor: Duration = .milliseconds(250)
    /// An answer in the last quarter of its life goes along with one that is due.
    static let earlyPart = 4
    /// An upstream's cache that turns over at a certain second has done so a little later.
    static let turnoverDelay: Duration = .milliseconds(50)
    /// Tokens that a provider's refresh budget can save up, in seconds.
    static let budgetBurst = 1.0

    /// Questions whose failure is remembered. A name that does not work is asked by few programs, again and again.
    static let maxFailures = 4096
    /// RFC 9520 section 3.2: at least 1 s, at most 5 minutes; stubs retry within 5 s.
    static let failureFloor: Duration = .seconds(5)
    static let failureCeiling: Duration = .seconds(30)

    /// The operator's own addresses are given for so long: soon the upstreams are asked again.
    static let fallbackTTLSeconds: UInt32 = 30
    /// Failures in a row that open a provider's circuit breaker. One failed connection may be one lost packet or one
    /// restarted server.
    static let connectionFailuresToOpen = 2
    /// Registrable domains with an unusable reply in a row: one broken name may draw HTTP 5xx from a working provider.
    static let unusableDomainsToOpen = 2
    /// Registrable domains in a row that time out on a connection that works: the nameservers of two domains may well
    /// be down at once. A provider with requests out for so many domains, and no reply since `silentFloor`, counts as
    /// silent until its time-outs prove it.
    static let timedOutDomainsToOpen = 3
    static let silentFloor: Duration = .milliseconds(500)
    /// Requests for one domain without a reply, after which its expired answers do not wait for the provider any more.
    static let unansweredOfDomain = 8
    /// Time-outs say so long that a provider replies to nothing.
    static let unresponsiveMemory: Duration = .seconds(30)
    /// How long the system resolver's answer waits for providers that reply to nothing. A provider that works replies
    /// within this time.
    static let systemPatienceUnresponsive: Duration = .seconds(1)

    /// Names of which it is known where they lead, some kilobytes each: more than one machine has in use at a time.
    static let maxKnownNames = 2048
    /// Looked at for one to give up when all places are taken.
    static let knownNamesSample = 8
    /// Questions of which it is remembered what sources said: as many as names are judged, below a kilobyte each.
    static let maxWordedQuestions = 2048
    /// Addresses that are judged, per name. Content networks give up to eight per family.
    static let maxAddressesPerName = 16
    /// Questions of one name that are kept apart: four types, for four client subnets.
    static let maxQuestionsPerName = 16
    /// Who leads to a name's addresses: the system resolver and the providers that lookups ask.
    static let maxSourcesPerName = 4
    /// Of an answer that may have to be rearranged: what few answers have, and none needs.
    static let maxHeldAddresses = 32
    static let maxHeldBytes = 2048
    /// Registrable domains that are remembered as counted for or against one source: 16 KiB each way. Then the oldest
    /// makes room, and may count again.
    static let maxCountedDomains = 256
    /// What was said longer ago tells nothing about who says it.
    static let saidLately: Duration = .seconds(600)

    /// Networks of which something is known, the one in use included: home, work, a telephone, a VPN on each.
    package static let maxNetworks = 8
    /// Of a network that is not in use the names that were touched last keep what is known of them.
    static let maxPastNames = 256
    /// Of a network that comes back so many names are probed at once, at the usual pace: ten seconds' worth.
    static let maxReverifiedNames = 50
    /// A question without an answer waits so long for the end of a change of the network: a change is over within
    /// `NetworkBounds.settleLimit`, and a client asks again after 5 s.
    static let networkPatience: Duration = .seconds(1)
    /// So long after a change of the network nobody knows what works there.
    static let firstSeconds: Duration = .seconds(2)
    /// In that time the system resolver is asked along with the first provider, and its answer waits so long: a
    /// provider that works needs three round trips for a new connection, and nobody notices a quarter of a second once.
    static let systemPatienceAtFirst: Duration = .milliseconds(250)
    /// After a change what is in use is asked for at this pace: 50 questions a second.
    static let refreshStep: Duration = .milliseconds(20)
    /// What was learned on another network waits so long for the upstreams of this one (RFC 8767 section 5).
    static let otherNetworkPatience: Duration = .milliseconds(1800)

    /// Handshakes that take at most so much longer than the quickest are as good. Nobody notices 20 ms.
    static let nearQuickest = 1.5
    static let nearQuickestMargin: Duration = .milliseconds(20)

    /// An address is probed again after its answer's TTL, and at least this. The pause doubles with each equal verdict
    /// up to the second value, or to the third for one that may come back.
    static let probePause: Duration = .seconds(60)
    static let probePauseCeiling: Duration = .seconds(3600)
    static let badProbePauseCeiling: Duration = .seconds(600)
    static let maxProbePauseDoublings = 6
    /// A name without TLS will not have it soon.
    static let leftAlonePause: Duration = .seconds(3600)
    /// Whoever wants to know now is told what was found so lately.
    static let freshVerdict: Duration = .seconds(5)
    /// Others are asked about a question at most so often because of what was probed, and not before the second time
    /// has passed when all of them were heard and none knew better.
    static let elsewherePause: Duration = .seconds(60)
    static let noneBetterPause: Duration = .seconds(600)
    /// What leads nowhere is kept so long at most while somebody is unheard who may know better: until others are asked
    /// again.
    static let uselessTTLSeconds: UInt32 = 60

    /// Behind a portal every name fails within seconds; what is older may have been another trouble.
    static let portalSignLife: Duration = .seconds(30)
    /// Nobody stands at a log-in page for longer, and whoever only plays a portal has no more than half of the time.
    static let portalLimit: Duration = .seconds(600)
    static let portalRest: Duration = .seconds(600)
    /// A portal that lets us through is noticed soon, by one request every so often.
    static let portalTrialPause: Duration = .seconds(2)
    /// What the system resolver says behind a portal is short-lived, in clients too: it may lead to the portal.
    static let portalSubstituteTTLSeconds: UInt32 = 5

    /// When so many names are untrusted and none was ever verified, it is not the names.
    static let untrustedNamesAreOurs = 3

    /// Probes in flight, each a socket and a TLS session of some tens of kilobytes; so many of them only for those who
    /// want to know now.
    static let maxProbes = 64
    static let probesInReserve = 8
    static let maxWaitingProbes = 512
    static let probesPerSecond = 20
    /// A /24 or a /56 is one operator's, who must not take us for a scanner.
    static let maxProbesPerNeighbourhood = 2
    static let probesPerSecondPerNeighbourhood = 1
    /// Probes that fall due together begin within this.
    static let probeJitter: Duration = .seconds(1)
    /// Longer than any time-out of a probe: one without a result then is lost, and its place is not.
    static let probeStop: Duration = .seconds(30)
}
