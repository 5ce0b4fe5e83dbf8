// What IPv6 looks like from here: half of it is worse than none, since programs try it first.

package struct RouteCheck: Sendable {
    /// Of global scope, which unique local ones have as well: they may be translated on the way.
    package let hasAddress: Bool
    /// Of 2000::/3, which is all that is handed out.
    package let hasPublicAddress: Bool
    package let hasDefaultRoute: Bool
    /// All of 2000::/3 has one, be it in halves as VPNs have them.
    package let hasPublicRoute: Bool
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
        let wide = RouteCheck.lines(routes).compactMap(RouteCheck.wideRoute)
        hasDefaultRoute = wide.contains { $0.bits == 0 }
        // ::/0, ::/1, ::/2 and 2000::/3 are those around it; 2000::/4 and 3000::/4 are its halves.
        let halves = Set(wide.filter { $0.bits == 4 }.map(\.firstDigit))
        hasPublicRoute =
            wide.contains { $0.bits < 3 && $0.firstDigit < 4 || $0.bits == 3 && $0.firstDigit == 2 }
            || halves.isSuperset(of: [2, 3])
        self.outcomes = outcomes
        self.worksByIPv4 = worksByIPv4
    }

    /// RTF_REJECT of linux/route.h.
    private static let rejects: UInt32 = 0x0200
    /// A machine with a route for every neighbour.
    private static let maxLines = 10_000

    /// Its first hexadecimal digit, and how many bits of it count; nil for narrow ones, and those that reject.
    private static func wideRoute(_ words: [Substring]) -> (firstDigit: Int, bits: Int)? {
        guard words.count >= 10, words[9] != "lo", let bits = Int(words[1], radix: 16), bits <= 4,
            let digit = words[0].first?.hexDigitValue, let flags = UInt32(words[8], radix: 16), flags & rejects == 0
        else { return nil }
        return (digit, bits)
    }

    private static func lines(_ text: String) -> [[Substring]] {
        text.split(separator: "\n").prefix(maxLines).map { $0.split(separator: " ") }
    }

    package var findings: [Finding] {
        if hasPublicAddress, !hasPublicRoute {
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
                "no provider answers by IPv6, while some do by IPv4: what is sent there is lost",
                "mend the router's IPv6, or turn it off: sysctl net.ipv6.conf.all.disable_ipv6=1")
        ]
    }

    private func warning(_ text: String, _ remedy: String) -> Finding {
        Finding(.warning, .ipv6, text, remedy: remedy)
    }
}
