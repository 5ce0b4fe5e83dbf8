// Follows the network's reachability of IPv4 and IPv6: discovers the NAT64 prefix, passes it to the resolver and the
// fetches, and filters AAAA if the settings ask for it. `NAT64Discovery` decides when to ask and which prefixes to
// trust.

import DNSWire
import LinuxIO
import Network
import Resolver
import Serving
import Settings
import Upstreams

final class NAT64: TimedPart {
    let timer = PartTimer()
    private let upstreams: Upstreams
    private let outbox: Outbox
    private let serving: ServingState
    private var discovery = NAT64Discovery() { didSet { timer.changed() } }
    private var reach = NetworkReach.everything
    private var settings = Settings.defaults.server
    private var request: SystemFetches.OwnRequest?
    /// The inputs of the discovery at the last change.
    private var ways: Ways?

    private static let everyAAAA = QuestionScope(.root, includesDescendants: true, type: .aaaa)

    init(_ upstreams: Upstreams, _ outbox: Outbox, _ serving: ServingState) {
        (self.upstreams, self.outbox, self.serving) = (upstreams, outbox, serving)
    }

    var nextDeadline: Instant? { discovery.askAt }

    /// Prefixes in force; empty if the network has no NAT64, or needs none.
    var prefixes: [NAT64Prefix] { discovery.prefixes }

    func configure(_ settings: Settings.Server) {
        let isOther = settings.dns64 != self.settings.dns64
        self.settings = settings
        if isOther, !prefixes.isEmpty { forgetAAAA() }
        announce()
    }

    /// Notes another network, or changed routes.
    ///
    /// - Parameters:
    ///   - network: nil while the network is not identified.
    ///   - advertised: the prefixes of router advertisements.
    func networkChanged(
        to network: NetworkID?, reach: NetworkReach, advertised: [NAT64Prefix], now: Instant
    ) {
        let ways = Ways(network, reach, advertised)
        self.reach = reach
        // A container's route is no reason to repeat the discovery.
        guard ways != self.ways else { return announce() }
        self.ways = ways
        if let request = request.take() { upstreams.system.cancel(request) }
        let isNews = discovery.networkChanged(to: network, reach, advertised: advertised, now: now)
        if isNews, settings.dns64 == .auto { forgetAAAA() }
        announce()
    }

    /// Notes new providers or new addresses of one.
    func providersChanged() { announce() }

    func timePassed(now: Instant) {
        guard let askAt = discovery.askAt, askAt <= now else { return }
        discovery.asked()
        request = upstreams.system.ask(NAT64Discovery.question, now: now) { [weak self] in self?.answered($0)
        }
    }

    private func answered(_ result: FetchResult) {
        let now = Clock.now()
        request = nil
        guard case .success(let answer) = result else { return discovery.failed(now: now) }
        guard discovery.answered(answer.addresses, ttlSeconds: answer.ttlSeconds, now: now) else { return }
        if settings.dns64 == .auto { forgetAAAA() }
        announce()
    }

    /// Removes AAAA answers: "no data" from before the prefix was known, and addresses synthesised with another
    /// prefix.
    private func forgetAAAA() { outbox.put(.remove(NAT64.everyAAAA)) }

    private func announce() {
        serving.setAAAAFilter(settings.filterAAAA == .noRoute && !reach.hasWayOut(.aaaa))
        upstreams.providers.setReach(reach, prefixes)
        upstreams.system.setReach(reach)
        outbox.put(.event(.network(.unreachable(upstreams.unreachable))))
        outbox.put(.event(.nat64Prefixes(prefixes, synthesises: settings.dns64 == .auto)))
    }
}

/// The inputs of prefix discovery.
private struct Ways: Equatable {
    let network: NetworkID?
    let advertised: [NAT64Prefix]
    let hasIPv4: Bool
    let hasIPv6: Bool

    init(_ network: NetworkID?, _ reach: NetworkReach, _ advertised: [NAT64Prefix]) {
        self.network = network
        self.advertised = advertised
        hasIPv4 = reach.hasWayOut(.a)
        hasIPv6 = reach.hasWayOut(.aaaa)
    }
}
