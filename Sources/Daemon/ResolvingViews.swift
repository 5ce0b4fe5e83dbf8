// What is to be seen of the resolver: a view of the state that its decisions use. Changes nothing.

import DNSWire
import LinuxIO
import Resolver

extension ResolvingLoop {
    var refreshes: RefreshCounts { resolver.refreshes }

    func estimate(of provider: ProviderID, now: Instant) -> ProviderEstimate? {
        resolver.estimate(of: provider, now: now)
    }

    func shadowCounts(of provider: ProviderID) -> ShadowCounts { resolver.shadowCounts(of: provider) }

    func privateAnswers(from provider: ProviderID) -> UInt64 { resolver.privateAnswers(from: provider) }

    func state(of provider: Provider, now: Instant) -> ProviderState {
        resolver.state(of: provider.id, now: now) ?? .unmeasured
    }

    func judged(_ name: Name) -> [JudgedAddress] { resolver.judged(name) }

    var judgedNames: [Name] { resolver.judgedNames }

    var probeCounts: ProbeCounts { resolver.probeCounts }

    func systemTrust(now: Instant) -> Double { resolver.systemTrust(now: now) }

    /// Nil when none is suspected.
    var portal: PortalState? { resolver.portal }
}
