// Limits and deadlines of the resolver module, each with its reason.

package import DNSWire

package enum Bounds {
    /// Lookups in flight: as many clients as wait at most. A lookup holds one to two kilobytes. Beyond this number the
    /// newest lookup of the largest holder ends (`Resolver.endSurplus`).
    package static let maxLookups = 16_384
    /// Taken places up to which a fair queue drops its tree of holders when hardly any request waits.
    static let quietHolders = 8
    /// Time after which a running request is overdue at any provider, and may have to give its place to another holder.
    package static let hopelessAfter: Duration = .milliseconds(2500)
    /// Interval at which a lookup decides anew whether to ask the system resolver. It is not asked while a request
    /// waits for a place at a provider that replies.
    static let placeCheck: Duration = .milliseconds(500)
    /// Clients waiting for one question: room for a burst from a busy host.
    package static let maxWaiters = 2048
    /// Providers asked per question, the hedge included (field.md 7b: bounded fan-out).
    static let maxProviderAttempts = 3
    /// Providers that filter nothing, asked per question in the place of unreachable ones that do.
    static let maxStandIns = 2

    /// Time limit for a reply. Stub resolvers time out after 5 s (resolv.conf default), so SERVFAIL must arrive before
    /// that.
    package static let answerWithin: Duration = .milliseconds(4500)
    /// Timeout of one request to a provider, connection setup included, unless its settings have another.
    package static let providerTimeout: Duration = .milliseconds(3000)
    /// Time for which a fetch waits for others to share its request; far below the duration of any request.
    package static let gatherWithin: Duration = .milliseconds(1)
    /// Time without a provider's answer after which the system resolver is asked as well: this multiple of the slowest
    /// provider's usual time, clamped to these limits. The upper limit applies if a provider is unmeasured. Lookups
    /// that end below the lower limit are not disclosed to the system resolver. Only this time follows measurements:
    /// asking early costs a datagram, but answering early would let a forging network win (`Policy.systemPatience`).
    static let systemHedgeFactor = 4
    static let systemHedgeFloor: Duration = .milliseconds(300)
    static let systemHedge: Duration = .milliseconds(1000)
    /// With order `system-first`, the first provider is asked after `systemHedgeFactor` times the system resolver's
    /// usual answer time, clamped to these limits: a full recursion mostly ends within 1 s. No client waits for a
    /// refresh.
    static let systemLeadFloor: Duration = .milliseconds(300)
    static let systemLeadCeiling: Duration = .milliseconds(1000)
    static let systemLeadOfRefresh: Duration = .milliseconds(2000)
    /// Lead of the system resolver for `systemSilentPause` after it was silent or late for `silentDomains` registrable
    /// domains in a row: a short start, which is enough for a local resolver that works again.
    static let silentDomains = 2
    static let systemLeadWhileSilent: Duration = .milliseconds(30)
    static let systemSilentPause: Duration = .seconds(10)
    /// Time from a forged answer of the system resolver for which the providers go first for that name. One question
    /// to the system resolver in this time shows whether it still forges.
    static let forgedPause: Duration = .seconds(600)
    /// Hedge time of the system resolver, and the time for which its answer waits, while no provider can be reached. An
    /// outage must not delay each new name. A trial of the provider goes on meanwhile.
    static let systemHedgeInTrouble: Duration = .milliseconds(20)
    static let systemPatienceInTrouble: Duration = .milliseconds(50)
    /// TTL limit of system resolver answers given in place of a provider's, so that the provider is soon asked again.
    static let systemSubstituteTTLSeconds: UInt32 = 30
    /// System resolver answers that are withdrawn when a provider recovers: the questions of a busy network in 30 s of
    /// an outage. The rest expire.
    static let maxSubstitutes = 4096

    /// The second provider is asked when the first exceeds its 95th percentile latency, clamped to these limits.
    static let hedgeFloor: Duration = .milliseconds(30)
    static let hedgeCeiling: Duration = .milliseconds(800)
    /// Every provider of a lookup is asked within this time. The last one then has 1 s before the system resolver's
    /// answer is given in its place (`Policy.systemPatience`, 1.8 s).
    static let allAskedWithin: Duration = .milliseconds(800)
    /// Hedge delay for an unmeasured provider: about the time of a TLS connection over a long path.
    package static let hedgeUnmeasured: Duration = .milliseconds(400)

    /// A failing provider is asked last for a back-off time, which doubles from the first to the second value.
    static let backOffFloor: Duration = .seconds(1)
    package static let backOffCeiling: Duration = .seconds(30)
    /// Back-off ceiling of a provider that sends no reply at all: an interrupted path may recover at any moment. A
    /// trial takes at most 2 s (the connect timeout), so recovery is noticed within 3.5 s plus the wait for a question.
    /// A long outage costs at most one request every two seconds.
    static let unheardBackOffCeiling: Duration = .milliseconds(1500)

    /// Minimum interval between requests to a failed provider while none ends. It bounds the cost of an outage. The
    /// trial's own name may also be broken.
    static let trialSpacing: Duration = .seconds(2)

    /// Time for which a provider that rejects the account is not asked. Its SDKs wait one hour too (providers.md 9.3).
    static let accountBlock: Duration = .seconds(3600)
    /// A provider that throttles is asked last for a time that doubles from the first to the second value, or for the
    /// pause that it names, up to the second value: then a request tells whether the pause still holds. Throttling is
    /// no failure: the provider keeps its measurements, and its circuit breaker is unaffected.
    static let throttleFloor: Duration = .seconds(1)
    static let throttleCeiling: Duration = .seconds(10)

    /// Providers within this factor or margin of the best one share its load. Two random picks among three at 10, 12.5
    /// and 15 ms give a mean of 10.8 ms. Users do not notice 5 ms. Two picks among all providers would give the
    /// second-best one a third of the clients.
    package static let nearBest = 1.5
    package static let nearBestMilliseconds = 5.0
    /// One lookup in this many also measures another provider: 2 % more questions. A measurement instead of the best
    /// provider's fetch would cost the client a hedge, whose answer would end the measurement early.
    static let lookupsPerExploration = 50
    /// A provider measured within this time is not measured again.
    package static let explorationPause: Duration = .seconds(10)
    /// Pause between measurements of a provider with low trust, which should regain it soon after true answers.
    static let mistrustPause: Duration = .seconds(2)
    /// Time for which an answer of a system resolver with low trust waits: until the providers have timed out.
    static let systemPatienceMistrusted: Duration = .milliseconds(3200)
    /// Background measurement fetches in flight. The same number of comparisons may wait for their second answer.
    static let maxShadowFetches = 64
    /// Lifetime of a comparison: longer than any lookup.
    static let shadowPatience: Duration = .milliseconds(5000)

    /// Comparison questions per request to a provider: below 1 %, the questions themselves included.
    static let comparisonsPerRequest = 1.0 / 120
    /// Comparison questions that may follow each other at once, after a time without a suitable question.
    static let maxComparisonAllowance = 4.0
    /// Requests until another question is looked at, after one that suits no provider.
    static let requestsPerSearch = 5.0
    /// Names in each of the two tables of what was counted about a provider's names lately: as many names are
    /// verified (`maxVerifiedNames`).
    static let maxAuditedNames = 1024
    /// Registrable domains remembered with each kind of bad answer: enough for `auditedDomains`, and for an example.
    package static let maxAuditWitnesses = 4
    /// Registrable domains with a bad answer from which the provider is blamed. One site, or two, may be broken.
    static let auditedDomains = 3
    /// Names judged by certificates from which a provider without a finding is called honest: a forger of 10 % of the
    /// names goes unnoticed with a chance of 4 %.
    package static let auditedNamesForVerdict = 30
    /// Replies from which their mean time counts, and names from which the mean connection time does.
    static let auditedReplies = 30
    static let auditedDistances = 20
    /// Lower limits of the true share from which a provider is blamed. Addresses of other servers, and denied names,
    /// are never right. A dead address, or a TTL that has just counted down to 0, is not rare.
    static let forgedShare = 0.005
    static let deniedShare = 0.01
    static let expiredShare = 0.05
    static let failingShare = 0.02
    static let lateShare = 0.2
    static let fartherShare = 0.2
    /// Part of the median other provider's reply time by which a provider is slower, from which it is said.
    static let slowerPart = 0.2

    /// Longest TTL of answers from hosts files, leases and local zones. The files are watched, so clients should not
    /// cache an entry for long.
    static let hostsTTLSeconds: UInt32 = 10
    /// Names of /etc/hosts that are kept, counted from the top, and as many of a directory. Block lists of this size
    /// exist.
    package static let maxHostsEntries = 500_000

    /// Wait for each nameserver before the next is asked as well, by round. A cached answer arrives within 100 ms over
    /// any link, a full recursion mostly within 1 s. Late replies are still accepted, so a short wait costs only one
    /// datagram.
    static let nameserverPatience: [Duration] = [.milliseconds(1000), .milliseconds(2000)]
    /// Wait for a reply over a stream, which needs two more round trips than a datagram.
    static let nameserverStreamPatience: Duration = .milliseconds(2000)
    /// Longest lookup at nameservers: longer than any client waits. The resolver abandons a fetch earlier.
    package static let nameserverTimeout: Duration = .seconds(5)

    /// Questions with remembered demand, for refreshes. A busy office asks some thousand names per hour. With the name,
    /// 220 bytes each.
    static let maxPlanned = 8192
    /// Entries sampled for eviction when the table is full.
    static let planSample = 8
    /// Refreshes in flight. The rest of `maxLookups` is left to clients.
    static let maxRefreshes = 256
    /// Expected queries within an answer's lifetime from which it is prefetched: a chance of about one in twelve that
    /// it is read. An unread refresh costs one request; a missing one makes a client wait.
    static let expectedAsksWorthRefreshing = 0.08
    /// Consecutive unread refreshes after which a name is not refreshed until it is asked again.
    static let maxUnreadRefreshes = 10
    /// Minimum time between the start of a refresh and the answer's expiry: a reserve for an upstream that is
    /// temporarily slower.
    static let refreshLeadFloor: Duration = .milliseconds(250)
    /// An answer in the last quarter of its life shares a request with one that is due.
    static let earlyPart = 4
    /// Delay after an upstream's cache entry expires until it is asked again.
    static let afterExpiryDelay: Duration = .milliseconds(50)
    /// Burst size of a provider's refresh budget, in seconds.
    static let budgetBurst = 1.0

    /// Remembered failures. Few programs ask a broken name, but they repeat it.
    static let maxFailures = 4096
    /// The latest failures that operators see. Each failure is compared with all of them.
    static let maxShownFailures = 10
    /// RFC 9520 section 3.2: at least 1 s, at most 5 minutes; stubs retry within 5 s.
    static let failureFloor: Duration = .seconds(5)
    static let failureCeiling: Duration = .seconds(30)

    /// Pause after a provider's reply that it does not serve a name; doubles from the first to the second value. An
    /// operator who registers the name sees it used within a day, or at once after a flush.
    static let unservedFloor: Duration = .seconds(60)
    static let unservedCeiling: Duration = .seconds(24 * 3600)
    /// Pairs of name and provider that does not serve it: as many as remembered failures.
    static let maxUnservedNames = 4096

    /// TTL of answers by rules: short, as a preferred family may lose its addresses, and rules change at run time.
    static let ruleTTLSeconds: UInt32 = 60
    /// Time from the question for which an answer in hand waits for the preferred family's: until the system resolver
    /// has stood in for late providers (`systemPatience`).
    static let preferredFamilyPatience: Duration = .milliseconds(2000)
    /// Longest time without a look at a kept question that yields to the preferred family. A look asks no upstream.
    static let yieldingPause: Duration = .seconds(600)

    /// TTL of the operator's fallback addresses, so that the upstreams are soon asked again.
    static let fallbackTTLSeconds: UInt32 = 30
    /// Failures in a row that open a provider's circuit breaker. One failed connection may be one lost packet or one
    /// restarted server.
    static let connectionFailuresToOpen = 2
    /// Registrable domains with an unusable reply in a row: one broken name may draw HTTP 5xx from a working provider.
    static let unusableDomainsToOpen = 2
    /// Consecutive registrable domains that time out on a working connection: the nameservers of two domains may well
    /// be down at once. A provider with outstanding requests for this many domains and no reply since `silentFloor`
    /// counts as silent until its timeouts prove it.
    static let timedOutDomainsToOpen = 3
    static let silentFloor: Duration = .milliseconds(500)
    /// A provider fails for every name if this many names of this many registrable domains failed in a row, for this
    /// time at least. From `namesToSuspect` names on, its next success counts as a recovery.
    static let namesToFail = 8
    static let domainsToFail = 5
    static let failingFor: Duration = .seconds(2)
    static let namesToSuspect = 3
    /// Longest wait for a turn in a provider's budget of questions; below `answerWithin` by the usual answer time.
    static let longestTurn: Duration = .seconds(4)
    /// Pause before a question is repeated at a provider whose failure may pass, such as HTTP 503.
    static let repeatPause: Duration = .milliseconds(250)
    /// Time that a repeated question needs before the clients' time ends.
    static let repeatTime: Duration = .milliseconds(500)
    /// Requests for one domain without a reply after which the domain's expired answers no longer wait for the
    /// provider.
    static let unansweredOfDomain = 8
    /// Parents of names that waited in vain for a provider, which are remembered for each provider.
    static let maxSilentParents = 64
    /// Time for which timeouts count as a sign that a provider does not reply.
    static let unresponsiveMemory: Duration = .seconds(30)
    /// Time for which the system resolver's answer waits for the only provider if it does not reply. A working provider
    /// replies within this time. Of several providers, the last may be asked after 800 ms.
    static let systemPatienceUnresponsive: Duration = .seconds(1)

    /// Names with answers of sources and probe state, some kilobytes each: more than one machine uses at a time.
    static let maxVerifiedNames = 2048
    /// Entries sampled for eviction when the table is full.
    static let verifiedNamesSample = 8
    /// Probed addresses per name. Content networks return up to eight per family.
    static let maxAddressesPerName = 16
    /// Preferred addresses per name and family that are probed, and that an answer has before the name's own.
    static let maxPreferredPerFamily = 4
    static let maxPreferredGiven = 2
    /// Age from which the verdict on a preferred address counts no more: twice the longest pause between its probes.
    static let preferredVerdictLife: Duration = .seconds(7200)
    /// Questions per name: four types for four client subnets.
    static let maxQuestionsPerName = 16
    /// Answers of sources per name, and failures: more than there may be upstreams and former answers, so that only
    /// those of removed upstreams and of other questions are forgotten.
    static let maxAnswersPerName = 64
    /// Size limits of an answer held for rearrangement. Few answers are larger.
    static let maxHeldAddresses = 32
    static let maxHeldBytes = 2048
    /// Registrable domains remembered as counted for or against one source: 16 KiB each way. The oldest is evicted and
    /// may count again.
    static let maxCountedDomains = 256
    /// Answers older than this are not used to judge a source.
    static let recentAnswerAge: Duration = .seconds(600)
    /// Contradicting answers remembered as reported, and names with one: as many as the daemon keeps as evidence. The
    /// rest is only counted.
    static let maxContradictions = 256

    /// Networks with stored state, the current one included: home, work, a telephone, a VPN on each.
    package static let maxNetworks = 8
    /// Names whose probe state is kept per unused network, most recently used first.
    static let maxPastNames = 256
    /// Names probed at once after a return to a known network: ten seconds of probes at the usual rate.
    static let maxReverifiedNames = 50
    /// Time for which a question waits for the end of a network change. A change ends within
    /// `NetworkBounds.settleLimit`, and a client asks again after 5 s.
    static let networkPatience: Duration = .seconds(1)
    /// Time after a network change in which it is unknown which upstreams work.
    static let firstSeconds: Duration = .seconds(2)
    /// Within `firstSeconds` the system resolver is asked together with the first provider, and its answer waits this
    /// long. A working provider needs three round trips for a new connection. Users do not notice a single delay of 250
    /// ms.
    static let systemPatienceAtFirst: Duration = .milliseconds(250)
    /// Interval of refreshes after a network change: 50 questions a second.
    static let refreshStep: Duration = .milliseconds(20)
    /// Shortest interval of refreshes after an outage of the providers. Each of these questions makes a client wait
    /// until it is refreshed. Over HTTP/1.1, eight connections to a provider 30 ms away carry 260 requests per second,
    /// and clients' questions need a quarter of these: there the interval is longer (`ProviderStanding.retryStep`).
    package static let retryStep: Duration = .milliseconds(3)
    /// A question whose retry is due within this time may share the request of another one.
    static let earlyRetry: Duration = .seconds(1)
    /// Time for which an answer learned on another network waits for the upstreams of this one (RFC 8767 section 5).
    static let otherNetworkPatience: Duration = .milliseconds(1800)

    /// Handshakes within this factor or margin of the quickest count as equally quick. Users do not notice 20 ms.
    static let nearQuickest = 1.5
    static let nearQuickestMargin: Duration = .milliseconds(20)

    /// An address is probed again after its answer's TTL, and at the earliest after `probePause`. The pause doubles
    /// with each equal verdict up to the second value, or up to the third after a bad verdict.
    static let probePause: Duration = .seconds(60)
    static let probePauseCeiling: Duration = .seconds(3600)
    static let badProbePauseCeiling: Duration = .seconds(600)
    static let maxProbePauseDoublings = 6
    /// A name without TLS is not probed again within this time.
    static let leftAlonePause: Duration = .seconds(3600)
    /// A verdict younger than this answers a probe request without a new probe.
    static let freshVerdict: Duration = .seconds(5)
    /// Minimum age of a verdict that is tested because another member of a fleet has found the address forged.
    static let evidencePause: Duration = .seconds(30)
    /// TTL of a last known good answer: each refresh asks the providers again, so that a deletion is followed soon.
    static let lastKnownGoodTTLSeconds: UInt32 = 30
    /// Time after the first denial within which a last known good answer without a certificate is given, its TTL
    /// included, while no other provider answers: a deletion is followed as soon.
    static let unansweredDoubt: Duration = .seconds(60)
    /// Addresses of a last known good answer probed at a time, at most once per `probePause`. One verified address is
    /// enough.
    static let maxProbesOfDoubt = 2
    /// Time after the begin of a doubt within which a probe must have verified an address of the last known good answer
    /// again: 300 names of one /24 at `probesPerSecondPerPrefix`.
    static let doubtedProbeWithin: Duration = .seconds(300)
    /// Minimum interval between lookups at other sources because of a probe's verdict. The second value applies after
    /// all sources answered and none had a better answer.
    static let elsewherePause: Duration = .seconds(60)
    static let noneBetterPause: Duration = .seconds(600)
    /// TTL limit of an answer without a reachable address while a source that may have a better one has not answered.
    /// After this time, other sources are asked again.
    static let unreachableTTLSeconds: UInt32 = 60

    /// Maximum age of a failure that counts as a sign of a portal. Behind a portal every name fails within seconds;
    /// older failures may have another cause.
    static let portalSignLife: Duration = .seconds(30)
    /// Longest duration of a suspected portal. A login takes less time. The equal rest limits an attacker that imitates
    /// a portal to half of the time.
    static let portalLimit: Duration = .seconds(600)
    static let portalRest: Duration = .seconds(600)
    /// Interval of trial requests that detect that the portal lets traffic through.
    static let portalTrialPause: Duration = .seconds(2)
    /// TTL of the system resolver's answers behind a portal, in clients too: they may lead to the portal.
    static let portalSubstituteTTLSeconds: UInt32 = 5

    /// Names of which the answers of providers and of the network are compared: twice as many as names with probe
    /// state, as most take 200 bytes. Names of the network stay the longest.
    static let maxComparedNames = 4096
    /// Entries sampled for eviction when the table is full.
    static let comparedNamesSample = 8
    /// Answers per name, of every source and both families. More sources tell no more.
    static let maxComparedStatements = 16
    static let maxComparedAddresses = 8
    /// Queries of clients for a denied name from which on the system resolver is asked as well: a name that is mistyped
    /// once or twice is not disclosed. The stub asks for both families at once, which counts once.
    static let asksWorthComparing = 3
    static let askSpacing: Duration = .seconds(1)
    /// Comparisons that begin within a minute: a client that asks for random names discloses no more of them.
    static let comparisonsAMinute = 6
    /// Comparisons in flight, with the one of an invented name.
    static let maxComparisons = 3
    /// Time after which a name is compared again if the comparison failed, and if it has shown enough.
    static let comparisonPause: Duration = .seconds(600)
    static let comparisonRest: Duration = .seconds(6 * 3600)
    /// Time for which both sides must say the same about a public address, and longer than the TTL: caches may be
    /// behind.
    static let splitConfirmation: Duration = .seconds(3600)
    /// Time for which a provider's address must be bad before it counts as another host's: longer than most outages.
    static let splitBadFor: Duration = .seconds(600)
    /// Unrelated domains for which one unverified address is no longer believed.
    static let unrelatedDomains = 3
    /// Labels with names of the network below a suffix from which on the suffix is proposed.
    static let namesOfSuffix = 3
    /// Time after which an invented name is asked again.
    static let controlLife: Duration = .seconds(3600)

    /// From this number of untrusted names, with none ever verified, the cause is local.
    static let untrustedNamesAreOurs = 3

    /// Probes in flight, each with a socket and a TLS session of some tens of kilobytes. `reservedProbes` of them are
    /// reserved for explicit requests.
    static let maxProbes = 64
    static let reservedProbes = 8
    static let maxWaitingProbes = 512
    /// Waiting probes of one registrable domain, and first probes of addresses in one /24 or /56: neither a domain's
    /// many names nor one address given for many names may keep others from a verdict. A name without room waits
    /// `probePause`; 64 probes in one /24 take 64 s.
    static let maxWaitingProbesOfGroup = 64
    /// Waiting probes of one /24 or /56, later ones of an address included: room for 300 doubts (`doubtedProbeWithin`),
    /// and for other names.
    static let maxWaitingProbesOfPrefix = 384
    static let probesPerSecond = 20
    /// Limits per /24 or /56, which belongs to one operator, so that the daemon is not taken for a scanner.
    static let maxProbesPerPrefix = 2
    static let probesPerSecondPerPrefix = 1
    /// Probes due at the same time are spread over this interval.
    static let probeJitter: Duration = .seconds(1)
    /// A probe without a result after this time is lost, and its slot is freed. Longer than any probe timeout.
    static let probeStop: Duration = .seconds(30)
}
