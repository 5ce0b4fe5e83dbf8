// Selects the provider address to connect to. Stays with a working address, so that its connections are reused, and
// changes if another one is clearly better. A value without clock; the same seed gives the same choices.

import DNSWire
import Resolver

struct ProviderAddressChoice: Sendable {
    private struct Address: Sendable {
        private(set) var latency = LatencyEstimate()
        /// The expected answer time; nil until the first answer. Kept, because each request asks for it.
        private(set) var expected: Duration?
        var breaker = CircuitBreaker()
        /// Number of the last choice of this address; 0: never chosen.
        var chosenAs = 0
        var chosenAt: Instant?

        mutating func answered(after elapsed: Duration, now: Instant) {
            latency.measure(elapsed, now: now)
            expected = latency.expectedAnswerTime.map { .milliseconds($0) }
            breaker.answered()
        }
    }

    private var addresses: [Address]
    /// Number of preferred addresses. The addresses after them are used while no preferred one works.
    private let preferred: Int
    private let first: Int
    private var choices = 0
    private var current: Int

    /// Limits of the usual answer time of a provider that a request must have left when it gets a place.
    private static let queueFloor: Duration = .milliseconds(50)
    private static let queueCeiling: Duration = .milliseconds(400)
    /// An address without a reply after this multiple of its usual time, clamped to these limits, is doubted, and
    /// another address is asked as well. The kernel retransmits unacknowledged data after 200 ms or more. A missing
    /// acknowledgement after that rules out a single lost packet.
    private static let silenceFactor = 3
    private static let silenceFloor: Duration = .milliseconds(250)
    private static let silenceCeiling: Duration = .milliseconds(1500)
    /// Time without a reply after which an unmeasured address is doubted.
    private static let silenceUnmeasured: Duration = .milliseconds(500)
    /// Addresses of a provider that one request tries, one after the other.
    static let maxAddressesPerRequest = 3
    /// One choice in this many tries another address. The provider's hedge protects the client from a bad one.
    private static let choicesPerExploration = 64

    /// - Parameters:
    ///   - count: the number of addresses, 1 or more; 0 counts as 1.
    ///   - fallbacks: number of addresses at the end that are used only if the others fail; 0 if it equals the count.
    ///   - seed: selects the first of the other addresses, so that not all daemons start with the same one.
    init(count: Int, fallbacks: Int = 0, seed: UInt64) {
        addresses = Array(repeating: Address(), count: max(1, count))
        preferred = (1..<addresses.count).contains(fallbacks) ? addresses.count - fallbacks : addresses.count
        first = Int(seed % UInt64(preferred))
        current = first
    }

    /// Returns the choice among other addresses. Addresses that stay keep their measurements and failures.
    ///
    /// - Parameters:
    ///   - origins: for each address, its index among the present addresses; nil: a new address.
    ///   - fallbackCount: number of addresses at the end that are used only if the others fail.
    func replaced(by origins: [Int?], fallbackCount: Int, seed: UInt64) -> ProviderAddressChoice {
        var new = ProviderAddressChoice(count: origins.count, fallbacks: fallbackCount, seed: seed)
        new.choices = choices
        for (index, origin) in origins.enumerated() {
            guard let origin else { continue }
            new.addresses[index] = addresses[origin]
            if origin == current, index < new.preferred { new.current = index }
        }
        return new
    }

    /// Forgets measurements and failures. The reserve addresses stay.
    mutating func reset() {
        addresses = Array(repeating: Address(), count: addresses.count)
        choices = 0
        current = first
    }

    /// - Parameter isReachable: unreachable addresses are skipped unless all are unreachable.
    /// - Returns: the index of the address, from 0 up to the count.
    mutating func choose(where isReachable: (Int) -> Bool = { _ in true }, now: Instant) -> Int {
        choices += 1
        let chosen = next(isReachable, now)
        addresses[chosen].chosenAs = choices
        addresses[chosen].chosenAt = now
        return chosen
    }

    /// Returns the addresses to try, in order, if the chosen one is silent.
    func others(
        than chosen: Int, where isReachable: (Int) -> Bool = { _ in true }, now: Instant
    ) -> [Int] {
        guard addresses.count > 1 else { return [] }
        let others = addresses.indices.filter { $0 != chosen && isReachable($0) }
        let working = others.filter { !addresses[$0].breaker.isOpen(now) }.sorted { cost($0) < cost($1) }
        let failing = others.filter { addresses[$0].breaker.isOpen(now) }
            .sorted { addresses[$0].chosenAs < addresses[$1].chosenAs }
        return Array((working + failing).prefix(Self.maxAddressesPerRequest - 1))
    }

    /// Returns the time without an acknowledgement after which the address counts as silent.
    func silence(of index: Int) -> Duration {
        guard let expected = addresses[index].expected else { return Self.silenceUnmeasured }
        return min(max(expected * Self.silenceFactor, Self.silenceFloor), Self.silenceCeiling)
    }

    /// Usual answer time at the address in use, clamped to the limits for the resolver's own waits.
    var usualLatency: Duration {
        min(max(addresses[current].expected ?? Self.queueCeiling, Self.queueFloor), Self.queueCeiling)
    }

    mutating func answered(_ index: Int, after elapsed: Duration, now: Instant) {
        guard addresses.indices.contains(index) else { return }
        addresses[index].answered(after: elapsed, now: now)
    }

    /// Records that the address is unreachable, or is the wrong one.
    mutating func failed(_ index: Int, now: Instant) {
        guard addresses.indices.contains(index) else { return }
        addresses[index].breaker.failed(now: now)
    }

    /// Whether the address has failed since its last answer.
    func isFailing(_ index: Int) -> Bool { !addresses[index].breaker.isClosed }

    private mutating func next(_ isReachable: (Int) -> Bool, _ now: Instant) -> Int {
        guard addresses.count > 1 else { return 0 }
        // The order starts at the current address, so that equal addresses rotate.
        let all = (0..<addresses.count).map { (current + $0) % addresses.count }
        let reachable = all.filter(isReachable)
        let turns = reachable.isEmpty ? all : reachable
        let working = turns.filter { !addresses[$0].breaker.isOpen(now) }
        guard let best = working.min(by: { cost($0) < cost($1) }) else { return longestAgo(turns) ?? current }
        if working.first != current || cost(current) > nearBest(cost(best)) { current = best }
        let others = working.filter { $0 != current && $0 < preferred && isLookedForAgain($0, now) }
        guard choices % ProviderAddressChoice.choicesPerExploration == 0, let other = longestAgo(others) else {
            return current
        }
        return other
    }

    private func longestAgo(_ indices: [Int]) -> Int? {
        indices.min { addresses[$0].chosenAs < addresses[$1].chosenAs }
    }

    private func isLookedForAgain(_ index: Int, _ now: Instant) -> Bool {
        addresses[index].chosenAt.map { now - $0 >= Bounds.explorationPause } ?? true
    }

    /// Cost in milliseconds. An untried address is no reason to leave a working one. Recovering addresses and reserve
    /// addresses come after the rest.
    private func cost(_ index: Int) -> Double {
        let latency = addresses[index].latency.smoothed ?? Bounds.hedgeUnmeasured.milliseconds
        let isFirstChoice = index < preferred && addresses[index].breaker.isClosed
        return isFirstChoice ? latency : latency + Bounds.providerTimeout.milliseconds
    }

    private func nearBest(_ cost: Double) -> Double {
        max(cost * Bounds.nearBest, cost + Bounds.nearBestMilliseconds)
    }
}
