// A configured provider at run time: its dialect, its addresses, and its counters.

package import DNSWire
package import HTTPClient
package import HTTPDNS
import LinuxIO
import PublicSuffix
package import Resolver
package import Settings
import Telemetry

/// A class, so that no request copies it. Its owner is `ProviderFetches`.
package final class Provider {
    package let id: ProviderID
    package var settings: Settings.Provider { account.settings }
    var secrets: ProviderSecrets { account.secrets }
    package let dialect: any Dialect
    /// How many names one request may have.
    let capacity: FetchBatches.Capacity
    /// False once new settings have removed the provider.
    var isInUse = true
    let parameters: ParameterSets
    private(set) var account: ProviderAccount
    /// Endpoints of the settings, one per address, in their order; none if the host name of the URL is resolved.
    let configuredEndpoints: [HTTPEndpoint]
    /// Endpoints to dial; empty until the host name of the URL is resolved.
    package private(set) var endpoints: [HTTPEndpoint] {
        didSet { setReach(reachability) }
    }
    /// The next reply is to be read for its list of service nodes.
    var wantsNodes: Bool
    /// How each of `endpoints` is dialled on this network; nil: no route leads there.
    private(set) var ways: [HTTPEndpoint?]
    private var reachability = Reachability()
    private var addresses: ProviderAddressChoice
    private let seed: UInt64
    /// The provider's answers are compared with those of other providers, and clients never get them.
    package var isShadow: Bool { settings.shadow != nil }
    package internal(set) var counts = ProviderCounts()
    package var clock = ServerClock()
    /// The group of the key exchange of the newest connection; nil without TLS.
    package internal(set) var keyExchange: String?
    private var forbidding = ForbiddenNames()
    private var unusable: UnusableReplies
    private var exitReadAt: Instant?
    /// Pause between two readings of the reported address: each decodes a reply once more, which costs as much as
    /// decoding its answers.
    private static let exitPause: Duration = .milliseconds(500)
    /// Until this time, open connections may deliver replies out of step.
    private var distrustsConnectionsUntil: Instant?

    /// - Parameter seed: chooses the node that is dialled first. Of the settings' addresses, the first one is dialled
    ///   first.
    package init(id: ProviderID, _ account: ProviderAccount, seed: UInt64) {
        self.id = id
        dialect = account.dialect
        capacity = FetchBatches.Capacity(
            names: account.dialect.maxNames, bothFamilies: account.dialect.asksBothFamilies)
        parameters = ParameterSets(account.settings.parameters, ofNames: account.settings.parametersOfNames)
        self.account = account
        unusable = Provider.unusable(account)
        // The list comes with the first answer; no request for it is planned.
        wantsNodes = account.nodeListing?.comesWithAnswers ?? false
        self.seed = seed
        configuredEndpoints = account.settings.addresses.compactMap { account.endpoint($0) }
        endpoints = configuredEndpoints
        ways = configuredEndpoints
        addresses = ProviderAddressChoice(count: endpoints.count, seed: 0)
    }

    package var name: String { account.settings.name }
    /// The name of a provider whose questions are billed; nil: they are not.
    var billedName: String? { account.isBilled ? account.settings.name : nil }
    /// How long one request may take.
    package var timeout: Duration { settings.timeout }
    /// Returns the counter of unusable replies. For an account with own names and none below them, the limit does not
    /// exceed the number of its names, because all may fail.
    private static func unusable(_ account: ProviderAccount) -> UnusableReplies {
        let hasFew = account.settings.hasOwnNames && !account.names.contains(where: \.includesDescendants)
        return UnusableReplies(ofNames: hasFew ? max(1, account.names.count) : nil)
    }
    package var ownNames: AccountNames { AccountNames(id, account.names, isExclusive: settings.exclusive) }

    /// Takes over settings that only choose questions.
    ///
    /// - Returns: false if the account differs otherwise; nothing has changed then.
    func update(_ account: ProviderAccount) -> Bool {
        guard settings.endpoint == account.settings.endpoint, secrets == account.secrets else { return false }
        if account.names != self.account.names { unusable = Provider.unusable(account) }
        self.account = account
        return true
    }
    package var dialectName: String { settings.dialect.rawValue }

    /// The account whose questions the vendor limits and counts together, equal on every machine with the same
    /// settings.
    private(set) lazy var accountIdentity = settings.accountIdentity

    /// Returns all that decides the provider's answer for a name and the way to it, equal on every machine with the
    /// same settings.
    func identity(for name: Name) -> String { "\(account.identity) \(parameters.text(for: name))" }

    package var traits: ProviderTraits {
        let listed = PresentationForm.readable.filter(dialect.supports)
        let types: ProviderTraits.Types = dialect.supports(Provider.unassignedType) ? .any : .listed(Set(listed))
        return ProviderTraits(
            id: .provider(id), types: types, maxNames: dialect.maxNames, asksBothFamilies: dialect.asksBothFamilies,
            parallelRequests: HTTPEndpoint.expectedParallelRequests(settings.url.isSecure ? .https : .http),
            budgetPerSecond: settings.budgetPerSecond ?? Provider.refreshesPerSecond,
            questionsPerSecond: settings.budgetPerSecond, whenUsedUp: settings.whenUsedUp,
            shadowShare: settings.shadow, filters: settings.filters,
            verifies: settings.url.isSecure, hasOwnNames: settings.hasOwnNames || settings.viewsOnly,
            carriesAliases: dialect.carriesAliases, carriesDNSSEC: dialect.carriesDNSSEC,
            isBilled: settings.isBilled, price: settings.price, mayCompare: settings.isAudited,
            mayHedge: settings.hedge ?? !settings.isBilled, timeout: settings.timeout)
    }

    /// A type for private use (RFC 6895 section 3.1): a dialect that carries this type carries every type.
    private static let unassignedType = RecordType(rawValue: 65_280)
    /// Bound on refreshes if the settings have none. More than the rate of refreshes after an outage
    /// (`Bounds.retryStep`): those must not delay the refreshes of answers that are about to expire.
    private static let refreshesPerSecond = 400

    /// The host name to resolve, if the settings have no address for it.
    package var hostName: String? {
        guard settings.addresses.isEmpty, case .name(let name) = settings.url.host else { return nil }
        return name
    }

    /// Why nothing can be sent to a provider without an endpoint; for operators.
    package var unresolved: String {
        "\(name): no address of \(hostName ?? "its host") is known; see httpdnsctl providers"
    }

    /// Whether the list of service nodes may contain private addresses.
    var isInPrivateNetwork: Bool { settings.addresses.contains(where: \.isPrivate) }

    /// Sets what is dialled from now on. Requests in flight keep their endpoints, and endpoints that stay keep their
    /// measurements.
    ///
    /// - Parameter fallback: dialled while none of the preferred ones works.
    /// - Returns: whether anything changed.
    func setEndpoints(_ preferred: [HTTPEndpoint], fallback: [HTTPEndpoint]) -> Bool {
        var new: [HTTPEndpoint] = []
        for endpoint in preferred + fallback where !new.contains(endpoint) { new.append(endpoint) }
        guard new != endpoints else { return false }
        let fallbackCount = new.count - Set(preferred).count
        addresses = addresses.replaced(
            by: new.map { endpoints.firstIndex(of: $0) }, fallbackCount: fallbackCount,
            seed: preferred.isEmpty ? 0 : seed)
        endpoints = new
        return true
    }

    /// Whether some address with a route has not failed since its last answer.
    var hasWorkingAddress: Bool { endpoints.indices.contains { ways[$0] != nil && !addresses.isFailing($0) } }

    /// Returns the client subnet that requests carry for these clients; nil: none. Length 0 tells nothing, and keeps
    /// the provider from sending one of its own making (RFC 7871 section 7.1.2). Dialects without prefixes leave it
    /// out.
    package func subnetSent(for clients: ClientGroup) -> Prefix? {
        if clients.hidesSubnet { return Prefix.nowhere }
        return switch settings.clientSubnetOfView[clients.view] ?? settings.clientSubnet {
        case .fixed(let prefix): prefix
        case .auto: clients.subnet
        case nil: nil
        }
    }

    /// Returns the address that the reply states for this machine, at most once in `exitPause`. Nil with a proxy,
    /// because the reply states the proxy's address, and with a client subnet, because the reply repeats the subnet.
    func exit(in reply: HTTPReply, toClients clients: ClientGroup, now: Instant) -> Address? {
        guard exitReadAt.map({ now - $0 >= Provider.exitPause }) ?? true, settings.proxy == nil,
            subnetSent(for: clients) == nil
        else { return nil }
        exitReadAt = now
        return dialect.clientAddress(in: reply)
    }

    /// Stops the use of open connections until they are too old. Over HTTP/1.1 an unexpected reply may be one too many;
    /// every later request on its connection would then get the reply of the one before.
    func distrustConnections(now: Instant) {
        distrustsConnectionsUntil = now + settings.idle
    }

    func distrustsConnections(now: Instant) -> Bool { distrustsConnectionsUntil.map { now < $0 } ?? false }

    /// Returns the endpoint to dial first, the alternatives, and how long the first may be silent. Nil if no address is
    /// known.
    ///
    /// - Parameter avoided: endpoints whose replies were of no use to the same question.
    func chooseEndpoints(
        avoiding avoided: [HTTPEndpoint] = [], now: Instant
    ) -> (first: RequestWay, others: [RequestWay], silence: Duration)? {
        guard !endpoints.isEmpty else { return nil }
        let isReachable = { (index: Int) in self.ways[index] != nil && !avoided.contains(self.endpoints[index]) }
        let chosen = addresses.choose(where: isReachable, now: now)
        let others = addresses.others(than: chosen, where: isReachable, now: now)
        return (way(chosen), others.isEmpty ? [] : others.map(way), addresses.silence(of: chosen))
    }

    /// Whether a route leads to an endpoint other than these.
    func hasEndpoint(otherThan avoided: [HTTPEndpoint]) -> Bool {
        zip(endpoints, ways).contains { endpoint, way in way != nil && !avoided.contains(endpoint) }
    }

    private func way(_ index: Int) -> RequestWay {
        RequestWay(endpoint: endpoints[index], dialled: ways[index] ?? endpoints[index])
    }

    /// How long a request may wait for a free place: about as long as an answer takes.
    var usualLatency: Duration { addresses.usualLatency }

    /// Whether a route leads to one of the addresses.
    var isReachable: Bool { ways.contains { $0 != nil } }

    /// Sets how the addresses are reached from now on.
    func setReach(_ reachability: Reachability) {
        self.reachability = reachability
        ways = endpoints.map { reachability.way(to: $0) }
    }

    /// Makes all addresses eligible again.
    package func resetAddresses() {
        addresses.reset()
        unusable.answered()
    }

    /// Forgets what `providers reset` resets.
    func reset() {
        resetAddresses()
        counts.reset()
    }

    /// Whether each address has not failed since its last answer.
    var addressStates: [(endpoint: HTTPEndpoint, isWorking: Bool)] {
        endpoints.indices.map { (endpoints[$0], !addresses.isFailing($0)) }
    }

    /// - Parameter failure: the failure of the first name; nil if a name has an answer.
    func replied(_ failure: FetchFailure?, at endpoint: HTTPEndpoint, after elapsed: Duration, now: Instant) {
        counts.replied(failure, after: elapsed)
        unusable.answered()
        if let index = endpoints.firstIndex(of: endpoint) { addresses.answered(index, after: elapsed, now: now) }
    }

    /// Returns the meaning of a reply for the resolver.
    ///
    /// - Parameter isClockRight: the provider's clock is known, and has dated the request.
    func result(
        _ result: consuming Result<Answer, DialectError>, for name: Name, isClockRight: Bool = false, now: Instant
    ) -> FetchResult {
        let error = result.failure
        let meaning = FetchResult(result)
        guard let error, case .failure = meaning else {
            forbidding.answered(name, now: now)
            return meaning
        }
        guard error == .forbidden || error == .status(ForbiddenNames.status) else { return meaning }
        // The dialect's documents say that the reply may concern a name that is not in the account.
        let isAboutNames = error == .forbidden
        let hasList = isAboutNames || settings.isBilled || settings.hasOwnNames
        switch forbidding.subject(of: name, hasList: hasList, isClockRight: isAboutNames && isClockRight, now: now) {
        case .unclear: return .failure(.status)
        // A block for an hour would be too much: the reply may be forged, and all the names may be foreign.
        case .account: return .failure(isAboutNames ? .server : .status)
        case .name where hasList: return .notServed
        // Without an account, there is no list of names: a policy of the provider refuses the name.
        case .name: return .nameFailed(NameFailure(.refused))
        }
    }

    /// - Parameter isAddress: another address of the provider may succeed.
    func failed(
        _ failure: FetchFailure, _ reason: String, at endpoint: HTTPEndpoint, isAddress: Bool, now: Instant
    ) {
        counts.failed(failure, reason)
        if isAddress, let index = endpoints.firstIndex(of: endpoint) { addresses.failed(index, now: now) }
    }

    /// Whether no address has answered lately, so that a second one is not asked for the same question.
    var isOutOfOrder: Bool { unusable.showOutage }

    /// Records that none of these endpoints had a usable reply to a question for this name. No other endpoint could be
    /// asked.
    ///
    /// - Returns: whether the provider is out of order. The endpoints then count as failed.
    func gaveNoUsableReply(about name: Name, at failed: [HTTPEndpoint], now: Instant) -> Bool {
        unusable.add(settings.hasOwnNames ? name : name.registrableDomain)
        guard isOutOfOrder else { return false }
        for endpoint in failed { contradicted(endpoint, now: now) }
        return true
    }

    /// Returns what a failure means for the resolver while the provider is out of order. An account with names of its
    /// own has failed for all of them. These names may have one registrable domain, and the resolver blames the
    /// provider only after such replies for a second domain. Over HTTP, a wrong body may be a captive portal's.
    func failureOfAllNames(_ result: FetchResult) -> FetchResult {
        switch result {
        case .failure(.status) where settings.hasOwnNames: .failure(.server)
        case .failure(.garbage) where settings.hasOwnNames && settings.url.isSecure: .failure(.server)
        case .success, .nameFailed, .notServed, .omitted, .failure: result
        }
    }

    /// Records that another endpoint answered the question that this one failed to answer.
    func contradicted(_ endpoint: HTTPEndpoint, now: Instant) {
        if let index = endpoints.firstIndex(of: endpoint) { addresses.failed(index, now: now) }
    }
}

extension FetchResult {
    /// The meaning of a reply by itself, without the provider's other replies.
    init(_ result: Result<Answer, DialectError>) {
        switch result {
        case .success(let answer): self = .success(answer)
        // The name may be in another account, so another upstream decides.
        case .failure(.notServed): self = .notServed
        case .failure(.serverFailure(let code, let extendedError)):
            self = .nameFailed(NameFailure(code, extendedError))
        case .failure(let error): self = .failure(FetchFailure(error))
        }
    }
}

extension FetchFailure {
    init(_ failure: TransferFailure) {
        switch failure {
        case .refused: self = .refused
        case .unreachable, .proxy, .networkChanged: self = .unreachable
        case .unacknowledged: self = .unacknowledged
        case .timeout: self = .timeout
        case .tls: self = .tls
        case .reset, .crowded: self = .reset
        case .oversized, .garbage, .badRequest: self = .garbage
        case .busy, .local: self = .overload
        }
    }

    init(_ error: DialectError) {
        switch error {
        case .status(300..<400): self = .redirected
        case .status, .forbidden, .notServed: self = .status
        case .throttled: self = .throttled
        case .garbage, .wrongQuestion: self = .garbage
        case .account: self = .account
        case .clock: self = .clock
        case .wrongNode, .serverFailure: self = .server
        case .unsupported: self = .unsupported
        }
    }
}

extension TransferFailure {
    /// The failure as text for the log.
    package var description: String {
        switch self {
        case .tls(let reason), .proxy(let reason), .garbage(let reason), .local(let reason): "\(kind): \(reason)"
        // "refused" alone would look like the response code REFUSED.
        case .refused: "connection refused"
        case .crowded: "connection closed"
        case .unreachable, .unacknowledged, .timeout, .reset, .oversized, .busy, .networkChanged, .badRequest: kind
        }
    }
}

extension DialectError {
    /// The error, with an account error in place of a clock error: a provider that rejects a time of its own clock has
    /// another fault.
    package var withoutClock: DialectError { self == .clock ? .account("signature") : self }

    /// Whether a request dated by the provider's clock may succeed.
    package var clockMayBeWrong: Bool { self == .clock || self == .forbidden }

    /// Whether another node of the provider may answer the same question.
    var otherNodeMayAnswer: Bool {
        switch self {
        case .status(500..<600), .garbage, .wrongQuestion, .wrongNode: true
        case .status, .throttled, .account, .clock, .forbidden, .notServed, .serverFailure, .unsupported: false
        }
    }

    /// The error as text for the log.
    package var description: String {
        switch self {
        case .status(let status): "HTTP status \(status)"
        case .throttled: "throttled"
        case .garbage(let reason): "invalid reply: \(reason)"
        case .wrongQuestion: "the answer is to another question"
        case .account(let code): "the account is refused: \(code)"
        case .forbidden: "HTTP status 403: the name is not in the account, or the account or key is wrong"
        case .notServed: "the name is not in the account"
        case .clock: "rejects the time of the requests; check this machine's clock"
        case .wrongNode: "this address does not serve the account"
        case .serverFailure(let code, let extendedError):
            "\(code)\(extendedError.map { ", \($0.words)" } ?? "")"
        case .unsupported: "the dialect does not support this question"
        }
    }
}
