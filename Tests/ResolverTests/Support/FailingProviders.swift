// Short forms for tests of the ranking in which the names of questions make no difference.

import DNSWire

@testable import Resolver

private let anyHolder = ShareHolder(.root, nil)

extension UpstreamRanking {
    func begun(_ provider: RankedID, now: Instant) { self[provider]?.begun(anyHolder, now: now) }

    func ended(_ provider: RankedID, isHeard: Bool, now: Instant) {
        ended(provider, anyHolder, isHeard: isHeard, now: now)
    }

    /// Fails for further registrable domains, at most three, until the provider is at fault.
    func breaks(_ provider: RankedID, _ failure: FetchFailure, now: Instant) {
        for number in 0..<3 where !isInTrouble(provider, now) {
            failed(provider, failure, of: Name("d\(number).example") ?? .root, now: now)
        }
    }
}

extension RankedID {
    /// A provider.
    init(_ number: Int) { self = .provider(ProviderID(number)) }

    var number: Int {
        switch self {
        case .provider(let id): id.number
        case .nameserver(let id): id.number
        }
    }
}
