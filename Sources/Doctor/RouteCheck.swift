// What IPv6 looks like from here: half of it is worse than none, since programs try it first.

package struct RouteCheck: Sendable {
    /// Of global scope, which unique local ones have as well: they may be translated on the way.
    package let hasAddress: Bool
    /// Of 2000::/3, which is all that is handed out.
    package let hasPublicAddress: Bool
    package let hasDefaultRoute: Bool
    /// How providers were reached by it.
    package let outcomes: [ProviderCheck.Outcome]
    package let worksByIPv4: Bool

    /// - Parameters:
    ///   - addresses: /proc/net/if_inet6: address, index, length of the prefix, scope, flags, interface.
    ///   - routes: /proc/net/ipv6_route: destination, its length, source, its length, next hop, metric, references,
    ///     uses, flags, interface.
    package init(
        addresses: String, routes: String, outcomes: [ProviderCheck.Outcome], worksByIPv4: Bool
    ) {
        let scopes = RouteCheck.lines(addresses).compactMap { words in
            words.count >= 6 && words[3] == "00" && words[5] != "lo" ? words[0].first : nil
        }
        hasPublicAddress = scopes.contains { $0 == "2" || $0 == "3" }
        hasAddress = !scopes.isEmpty
        hasDefaultRoute = RouteCheck.lines(routes).contains { words in
            guard words.count >= 10, words[1] == "00", words[0].allSatisfy({ $0 == "0" }), words[9] != "lo" else {
                return false
            }
            return UInt32(words[8], radix: 16).map { $0 & RouteCheck.rejects == 0 } ?? false
        }
        self.outcomes = outcomes
        self.worksByIPv4 = worksByIPv4
    }

    /// RTF_REJECT of linux/route.h.
    private static let rejects: UInt32 = 0x0200
    /// A machine with a route for every neighbour.
    private static let maxLines = 10_000

    private static func lines(_ text: String) -> [[Substring]] {
        text.split(separator: "\n").prefix(maxLines).map { $0.split(separator: " ") }
    }

    package var findings: [Finding] {
        if hasPublicAddress, !hasDefaultRoute {
            return [
                warning(
                    "there is a public address and no default route: programs try IPv6 and wait or fail",
                    "ip -6 route; let the router announce itself (accept_ra), or take the address away")
            ]
        }
        if hasDefaultRoute, !hasAddress {
            return [
                warning(
                    "there is a default route and no global address to use it with",
                    "ip -6 addr; filter-aaaa = \"no-route\" under [server] keeps programs from trying")
            ]
        }
        let tried = outcomes.filter { $0 != .notDialled && $0 != .noRoute }
        guard hasAddress, !tried.isEmpty, tried.allSatisfy({ $0 == .silent(isConnected: false) }), worksByIPv4 else {
            return []
        }
        return [
            warning(
                "no provider answers by IPv6, and all do by IPv4: what is sent there is lost",
                "mend the router's IPv6, or turn it off: sysctl net.ipv6.conf.all.disable_ipv6=1")
        ]
    }

    private func warning(_ text: String, _ remedy: String) -> Finding {
        Finding(.warning, .ipv6, text, remedy: remedy)
    }
}
