// Finds the host to which a captive portal redirects: resolves a check name through the network's nameservers and
// asks there in plain HTTP. Reports to the resolver; follows no redirect.

import DNSWire
import HTTPClient
import LinuxIO
import Network
import Resolver
import Upstreams

final class PortalCheck: TimedPart {
    let timer = PartTimer()
    private let upstreams: Upstreams
    private let outbox: Outbox
    /// The monitor of the network in use; nil: networks are not followed.
    private let network: NetworkMonitor?
    /// When to ask next; nil while no portal is suspected.
    private var askAt: Instant? { didSet { timer.changed() } }
    private var request: SystemFetches.OwnRequest?

    /// Pause between two checks. A portal may redirect to another host after its first page has been shown.
    private static let pause: Duration = .seconds(60)
    /// Path of Android's connectivity check. The answer is 204 if no portal intercepts it.
    private static let path = "/generate_204"
    private static let port: UInt16 = 80

    init(_ upstreams: Upstreams, _ outbox: Outbox, _ network: NetworkMonitor?) {
        (self.upstreams, self.outbox, self.network) = (upstreams, outbox, network)
    }

    var nextDeadline: Instant? { askAt }

    func take(_ news: PortalEvent, now: Instant) {
        switch news {
        case .suspected: askAt = now
        case .redirects: break
        case .ended:
            askAt = nil
            if let request = request.take() { upstreams.system.cancel(request) }
        }
    }

    func timePassed(now: Instant) {
        guard let due = askAt, due <= now else { return }
        askAt = now + PortalCheck.pause
        request = upstreams.system.ask(Question(PortalNames.probed, .a), now: now) { [weak self] in
            self?.answered($0)
        }
    }

    private func answered(_ result: FetchResult) {
        request = nil
        let gateway = network?.identity.gateway
        guard case .success(let answer) = result,
            let address = answer.addresses.first(where: { $0.mayBeAskedForPortal(gateway: gateway) })
        else { return }
        look(at: address)
    }

    private func look(at address: Address) {
        let host = PortalNames.probed.description
        let endpoint = HTTPEndpoint(
            scheme: .http, host: host, port: PortalCheck.port, address: address.description)
        guard let endpoint else { return }
        upstreams.providers.carry(HTTPRequest(url: PortalCheck.path), to: endpoint, now: Clock.now()) {
            [outbox] result in
            guard case .success(let transfer) = result, let host = HTTPReply(transfer).redirectHost else { return }
            outbox.put(.event(.redirected(host)))
        }
    }
}

extension Address {
    /// Links with services that trust any request from this machine: loopback (0.0.0.0 leads there, too), link-local,
    /// and the metadata services of AWS, Azure, GCP, Alibaba and Oracle Cloud.
    private static let trustedLinks = [
        "0.0.0.0/8", "127.0.0.0/8", "::/127", "169.254.0.0/16", "fe80::/10", "100.100.100.0/24", "192.0.0.0/24",
        "168.63.129.16/32", "fd00:ec2::/64", "fd20:ce::/64",
    ].compactMap { Prefix($0) }

    /// Returns whether the check request may go to this address. A trusted link is refused unless the default gateway
    /// is on it, because the portal can then be on that link.
    func mayBeAskedForPortal(gateway: Address?) -> Bool {
        let address = mapped ?? self
        return Address.trustedLinks.filter { $0.contains(address) }.allSatisfy { link in
            gateway.map { link.contains($0) } ?? false
        }
    }
}
