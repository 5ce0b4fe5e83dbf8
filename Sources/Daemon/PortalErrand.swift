// Finds out where a captive portal sends its users: asks for a check name as they do, in plain HTTP at the address that
// the network gives for it. Tells the resolver; decides nothing, and follows no redirect.

import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver

final class PortalErrand {
    private let resolving: ResolvingLoop
    /// Nil while none is suspected.
    private var askAt: Instant?
    private var errand: SystemFetches.Errand?

    /// A portal may send people elsewhere once they have seen its first page.
    private static let pause: Duration = .seconds(60)
    /// Connectivity checks of Android ask for this; its answer is 204 where nobody stands in the way.
    private static let path = "/generate_204"
    private static let port: UInt16 = 80

    init(_ resolving: ResolvingLoop) {
        self.resolving = resolving
    }

    var nextDeadline: Instant? { askAt }

    func take(_ news: PortalNews, now: Instant) {
        switch news {
        case .suspected: askAt = now
        case .redirects: break
        case .ended:
            askAt = nil
            if let errand = errand.take() { resolving.system.cancel(errand) }
        }
    }

    func timePassed(now: Instant) {
        guard let due = askAt, due <= now else { return }
        askAt = now + PortalErrand.pause
        errand = resolving.system.ask(Question(PortalNames.probed, .a), now: now) { [weak self] in self?.answered($0) }
    }

    private func answered(_ result: FetchResult) {
        errand = nil
        if case .success(let answer) = result, let address = answer.addresses.first { look(at: address) }
    }

    private func look(at address: Address) {
        let host = PortalNames.probed.description
        let endpoint = HTTPEndpoint(
            scheme: .http, host: host, port: PortalErrand.port, address: address.description)
        guard let endpoint else { return }
        resolving.providers.carry(HTTPRequest(url: PortalErrand.path), to: endpoint, now: Clock.now()) {
            [resolving] result in
            guard case .success(let transfer) = result, let host = HTTPReply(transfer).redirectHost else { return }
            resolving.handle(.redirected(host), now: Clock.now())
        }
    }
}

extension HTTPReply {
    /// Where a redirect leads to; nil for what is none, stays on its host, or names an address.
    var redirectHost: Name? {
        guard 300..<400 ~= status, let location = headers["Location"] else { return nil }
        guard let start = location.firstRange(of: "//"),
            ["", "http:", "https:"].contains(
                location[..<start.lowerBound].lowercased())
        else { return nil }
        let authority = location[start.upperBound...].prefix { !"/?#\\".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        let text = String(host.prefix { $0 != ":" })
        guard Address(text) == nil, text.utf8.allSatisfy(\.isOfHostName) else { return nil }
        return Name(text)
    }
}

extension UInt8 {
    fileprivate var isOfHostName: Bool {
        isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: ".")
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= lowercased
    }
}
