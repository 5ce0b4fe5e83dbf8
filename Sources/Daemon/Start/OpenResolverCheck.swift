// Checks before startup which clients can reach the listen addresses and which of them `server.allow` admits. A
// non-loopback listen address requires a non-loopback network in `allow`. Uses only addresses and settings, no sockets.

import DNSWire
import LinuxIO
import Serving
import Settings

enum OpenResolverCheck {
    /// Returns one line with finding and remedy if other machines can reach `listen`, but `allow` refuses all of them.
    ///
    /// - Parameters:
    ///   - listen: addresses from the next start on, of own sockets or of those passed by the service manager.
    ///   - place: where the addresses come from, as the complaint names it.
    ///   - allow: `server.allow`; the default admits this machine only.
    static func complaint(_ listen: [SocketAddress], of place: String, allow: [Prefix]) -> String? {
        let open = listen.filter(\.isOpenToOthers)
        guard let first = open.first, allow.allSatisfy(\.isOfThisMachine) else { return nil }
        let prefixes = (["127.0.0.0/8", "::1/128"] + open.map(\.likelyClients)).withoutRepetition
        let list = prefixes.prefix(maxPrefixes).map { "\"\($0)\"" }.joined(separator: ", ")
        return "server.allow: found only loopback networks, but \(place) has \(first), which is not loopback; "
            + "add the clients' networks, for example allow = [\(list)] under [server], or leave only loopback "
            + "addresses in \(place)"
    }

    /// True if clients on the Internet may query the daemon, forged source addresses included: `allow` has a prefix
    /// wider than any private network.
    static func isOpenResolver(listen: [SocketAddress], allow: [Prefix]) -> Bool {
        listen.contains(where: \.isOpenToOthers) && allow.contains(where: \.isWiderThanAnyNetwork)
    }

    /// Bound of the prefixes in the example, to keep it readable.
    private static let maxPrefixes = 6
}

extension ClientRateLimit {
    /// Returns nil if all listen addresses are loopback: local queries then skip the rate limits and cookies at no
    /// cost.
    convenience init?(_ server: Settings.Server, _ ports: PortBinding, _ entropy: SystemEntropy) {
        guard ports.addresses.contains(where: \.isOpenToOthers) else { return nil }
        self.init(
            Rates(client: server.clientRate, prefix: server.prefixRate), seed: (entropy.next(), entropy.next()),
            cookieSecret: (entropy.next(), entropy.next()),
            secondsAtBoot: Clock.bootMicrosecondsSince1970() / 1_000_000)
    }
}

extension SocketAddress {
    /// True if other machines can send to this address.
    var isOpenToOthers: Bool { !address.isLoopback }

    /// The most likely client network of this listen address.
    fileprivate var likelyClients: String {
        let address = address.mapped ?? address
        if isWildcard { return "192.168.1.0/24" }
        switch address {
        case .v4: return Prefix(around: address, length: 24)?.description ?? "\(address)"
        // Link-local addresses share fe80::/10; other IPv6 interfaces usually have a /64.
        case .v6(let high, _):
            return Prefix(around: address, length: high >> 54 == 0x3FA ? 10 : 64)?.description ?? "\(address)"
        }
    }
}

extension Prefix {
    fileprivate var isOfThisMachine: Bool {
        switch address {
        case .v4: length >= 8 && address.isLoopback
        case .v6: length == 128 && address.isLoopback
        }
    }

    /// The widest private networks are 10.0.0.0/8 and fc00::/7.
    fileprivate var isWiderThanAnyNetwork: Bool {
        switch address {
        case .v4: length < 8
        case .v6: length < 7
        }
    }
}
