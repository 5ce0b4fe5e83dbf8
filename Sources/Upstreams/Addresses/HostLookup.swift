// The lookup of a provider's host name: which sources are asked, one after the other or together, and what they
// answered. A value without I/O; the caller asks the sources and reports their answers.

import DNSWire
import Resolver

struct HostLookup: Sendable {
    enum Source: Hashable, Sendable {
        /// The nameservers themselves, never through this daemon.
        case system
        case provider(ProviderID)
    }

    struct Step: Hashable, Sendable {
        let source: Source
        let type: RecordType
    }

    private var stages: [[Source]]
    private var waiting: Set<Step> = []
    /// The addresses in order of arrival, without duplicates. Those of providers come first: a forged answer may have
    /// many addresses.
    private(set) var addresses: [Address] = []
    /// The shortest TTL of the answers.
    private(set) var ttlSeconds: Int?

    /// Maximum number of other providers that are asked: as many as for a client's question.
    static let maxProviders = 3
    private static let types = [RecordType.a, .aaaa]

    /// - Parameters:
    ///   - providers: providers that can be asked; the first `maxProviders` count.
    ///   - doubtsSystem: the providers are asked even if the nameservers have addresses.
    init(hasSystem: Bool, providers: [ProviderID], doubtsSystem: Bool) {
        let others = providers.prefix(HostLookup.maxProviders).map { Source.provider($0) }
        let system = hasSystem ? [Source.system] : []
        stages = (doubtsSystem ? [system + others] : [system, others]).filter { !$0.isEmpty }
    }

    var isWaiting: Bool { !waiting.isEmpty }
    /// Whether nothing is left to ask or to wait for.
    var isFinished: Bool { !isWaiting && (stages.isEmpty || !addresses.isEmpty) }

    /// Returns the steps that are to be taken now; empty while answers are awaited, and at the end.
    mutating func next() -> [Step] {
        guard waiting.isEmpty, addresses.isEmpty, !stages.isEmpty else { return [] }
        let steps = stages.removeFirst().flatMap { source in HostLookup.types.map { Step(source: source, type: $0) } }
        waiting = Set(steps)
        return steps
    }

    /// - Parameter answer: the answer; nil for a failure.
    mutating func answered(_ step: Step, _ answer: Answer?) {
        guard waiting.remove(step) != nil, let answer else { return }
        // Blocking resolvers answer with the unspecified address.
        let found = answer.addresses.filter { $0.recordType == step.type && $0 != .v4(0) && $0 != .v6(high: 0, low: 0) }
        guard !found.isEmpty else { return }
        let new = found.filter { !addresses.contains($0) }
        addresses = step.source == .system ? addresses + new : new + addresses
        ttlSeconds = min(ttlSeconds ?? .max, Int(answer.ttlSeconds))
    }
}
