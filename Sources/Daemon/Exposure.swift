// Who reaches the daemon, judged before it starts: a listener for others is of use only if others may ask, and an
// operator must have said who. Looks at addresses and settings alone, wherever the sockets come from.

import AnswerCache
import DNSWire
import LinuxIO
import Settings

enum Exposure {
    /// One line with finding and remedy, if somebody else's questions arrive at `listen` and all of them are refused.
    ///
    /// - Parameters:
    ///   - listen: as bound or as it will be, of our own sockets or of those that we were given.
    ///   - allow: `server.allow`; that of the defaults lets in this machine alone.
    static func complaint(listen: [SocketAddress], allow: [Prefix]) -> String? {
        let open = listen.filter(\.isOpenToOthers)
        guard let first = open.first, allow.allSatisfy(\.isOfThisMachine) else { return nil }
        var prefixes = ["127.0.0.0/8", "::1/128"]
        for prefix in open.map(\.likelyClients) where !prefixes.contains(prefix) { prefixes.append(prefix) }
        let list = prefixes.prefix(maxPrefixes).map { "\"\($0)\"" }.joined(separator: ", ")
        return "server.allow: found none but this machine's addresses, and \(first) to listen on, where others ask; "
            + "say who may: allow = [\(list)] under [server], for example; or listen on loopback alone"
    }

    /// What everybody on the Internet may use, forgers included.
    static func isOpenResolver(listen: [SocketAddress], allow: [Prefix]) -> Bool {
        listen.contains(where: \.isOpenToOthers) && allow.contains(where: \.isWiderThanAnyNetwork)
    }

    /// An example with more is not read.
    private static let maxPrefixes = 6
}

extension ClientGate {
    /// Nil where none but this machine can ask: then nobody pays for it.
    convenience init?(_ server: Settings.Server, _ ports: PortBinding, _ entropy: SystemEntropy) {
        guard ports.addresses.contains(where: \.isOpenToOthers) else { return nil }
        self.init(
            Rates(client: server.clientRate, prefix: server.prefixRate), seed: (entropy.next(), entropy.next()),
            cookieSecret: (entropy.next(), entropy.next()),
            secondsAtBoot: Clock.bootMicrosecondsSince1970() / 1_000_000)
    }
}

extension SocketAddress {
    /// More than this machine may send to it.
    var isOpenToOthers: Bool { !Address(self).isLoopback }

    /// The network that the address is most likely in.
    fileprivate var likelyClients: String {
        let address = Address(self).mapped ?? Address(self)
        if isWildcard { return "192.168.1.0/24" }
        switch address {
        case .v4: return Prefix(around: address, length: 24)?.description ?? "\(address)"
        // Link-local addresses are in one network, and so are those of one interface.
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
