// A configured provider at run time: how to speak with it, where it is dialled, and what was counted.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings

struct Provider {
    let id: ProviderID
    let settings: Settings.Provider
    let secrets: ProviderSecrets
    let dialect: any Dialect
    /// One for each address, in the order of the settings; at least one.
    let endpoints: [HTTPEndpoint]
    /// The address that is dialled; the next one after a failure to reach it.
    private(set) var addressIndex = 0
    private(set) var isUp = true
    var requests: UInt64 = 0
    /// What the requests asked for: as many or more.
    var names: UInt64 = 0
    private(set) var failures: [FetchFailure: UInt64] = [:]
    var latency = LatencyHistogram()
    var clock = ServerClock()
    /// Until then, connections that are open may be out of step with us.
    private var distrustsConnectionsUntil: Instant?

    /// Nil for a provider without an address, which settings never give.
    init?(id: ProviderID, _ account: ProviderAccount) {
        self.id = id
        settings = account.settings
        secrets = account.secrets
        dialect = account.dialect
        endpoints = settings.addresses.compactMap { account.endpoint($0.description) }
        guard !endpoints.isEmpty else { return nil }
    }

    var name: String { settings.name }
    var dialectName: String { settings.dialect.rawValue }
    var endpoint: HTTPEndpoint { endpoints[addressIndex] }

    /// A dialect that reads only some of the other types is asked for addresses alone: it would take the place of a
    /// provider that can be asked for anything.
    var traits: ProviderTraits {
        let types: ProviderTraits.Types =
            if dialect.supports(.https) { .any } else if dialect.supports(.aaaa) { .addresses } else { .a }
        return ProviderTraits(
            id: id, types: types, maxNames: dialect.maxNames, asksBothFamilies: dialect.asksBothFamilies,
            budgetPerSecond: settings.budgetPerSecond ?? Provider.refreshesPerSecond)
    }

    /// Refreshes have a bound even where nobody set one.
    private static let refreshesPerSecond = 100

    /// What the provider is told of a client; nil: nothing.
    func told(of subnet: ClientSubnet) -> Prefix? {
        switch settings.clientSubnet {
        case .fixed(let prefix): prefix
        case .auto: subnet.prefix
        case nil: nil
        }
    }

    /// Over HTTP/1.1 a reply that was not for us may be one too many, and every later one on its connection would be
    /// the one before: a neighbour's answer. Open connections are left alone until they are too old to be used.
    mutating func distrustConnections(now: Instant) {
        distrustsConnectionsUntil = now + endpoint.idleTimeout
    }

    func distrustsConnections(now: Instant) -> Bool { distrustsConnectionsUntil.map { now < $0 } ?? false }

    /// True when it had failed before.
    mutating func answered() -> Bool {
        defer { isUp = true }
        return !isUp
    }

    /// True when it had answered before and is to blame now. An address that can't be reached makes room for the next
    /// one, once.
    mutating func failed(_ failure: FetchFailure, atAddress index: Int) -> Bool {
        failures[failure, default: 0] += 1
        switch failure {
        case .refused, .unreachable, .timeout, .tls, .reset:
            if index == addressIndex { addressIndex = (addressIndex + 1) % endpoints.count }
        case .status, .throttled, .garbage, .server, .overload, .account, .clock, .unsupported: break
        }
        guard failure.isUpstreams else { return false }
        defer { isUp = false }
        return isUp
    }

    /// One of several questions in a request that was answered otherwise.
    mutating func failedInPart(_ failure: FetchFailure) {
        failures[failure, default: 0] += 1
    }
}

extension FetchFailure {
    init(_ failure: TransferFailure) {
        switch failure {
        case .refused: self = .refused
        case .unreachable, .proxy, .networkChanged: self = .unreachable
        case .timeout: self = .timeout
        case .tls: self = .tls
        case .reset: self = .reset
        case .oversized, .garbage, .badRequest: self = .garbage
        case .busy, .local: self = .overload
        }
    }

    init(_ error: DialectError) {
        switch error {
        case .status: self = .status
        case .throttled: self = .throttled
        case .garbage, .wrongQuestion: self = .garbage
        case .account: self = .account
        case .clock: self = .clock
        case .wrongNode: self = .server
        case .serverFailure: self = .server
        case .unsupported: self = .unsupported
        }
    }
}

extension TransferFailure {
    /// For the log.
    var description: String {
        switch self {
        case .tls(let reason), .proxy(let reason), .garbage(let reason), .local(let reason): "\(kind): \(reason)"
        case .refused, .unreachable, .timeout, .reset, .oversized, .busy, .networkChanged, .badRequest: kind
        }
    }
}

extension DialectError {
    /// For the log.
    var description: String {
        switch self {
        case .status(let status): "HTTP status \(status)"
        case .throttled: "throttled"
        case .garbage(let reason): "garbage: \(reason)"
        case .wrongQuestion: "an answer to another question"
        case .account(let code): "the account is not served: \(code)"
        case .clock: "finds the time of our requests wrong"
        case .wrongNode: "this address does not serve the account"
        case .serverFailure(let code): "\(code)"
        case .unsupported: "the dialect can't ask this"
        }
    }
}
