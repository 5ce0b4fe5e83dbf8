// Checks the machine's IPv6 connectivity. Partial IPv6 delays connections, since programs try it first.

struct RouteCheck: Sendable {
    /// An address of global scope; unique local addresses count, since NAT66 may translate them.
    let hasAddress: Bool
    /// An address in 2000::/3, the range from which public addresses are assigned.
    let hasPublicAddress: Bool
    let hasDefaultRoute: Bool
    /// A route covers all of 2000::/3; two halves count, as VPNs add them.
    let hasPublicRoute: Bool
    /// The outcomes of connections to providers over IPv6.
    let outcomes: [ProviderCheck.Outcome]
    let worksByIPv4: Bool

    /// - Parameters:
    ///   - addresses: /proc/net/if_inet6: address, index, length of the prefix, scope, flags, interface.
    ///   - routes: /proc/net/ipv6_route: destination, its length, source, its length, next hop, metric, references,
    ///     uses, flags, interface.
    init(
        addresses: String, routes: String, outcomes: [ProviderCheck.Outcome], worksByIPv4: Bool
    ) {
        let scopes = RouteCheck.lines(addresses).compactMap { words in
            words.count >= 6 && words[3] == "00" && words[5] != "lo" ? words[0].first : nil
        }
        hasPublicAddress = scopes.contains { $0 == "2" || $0 == "3" }
        hasAddress = !scopes.isEmpty
        let wide = RouteCheck.lines(routes).compactMap(RouteCheck.wideRoute)
        hasDefaultRoute = wide.contains { $0.bits == 0 }
        // ::/0, ::/1, ::/2 and 2000::/3 cover 2000::/3; so do 2000::/4 and 3000::/4 together.
        let halves = Set(wide.filter { $0.bits == 4 }.map(\.firstDigit))
        hasPublicRoute =
            wide.contains { $0.bits < 3 && $0.firstDigit < 4 || $0.bits == 3 && $0.firstDigit == 2 }
            || halves.isSuperset(of: [2, 3])
        self.outcomes = outcomes
        self.worksByIPv4 = worksByIPv4
    }

    /// RTF_REJECT of linux/route.h.
    private static let rejects: UInt32 = 0x0200
    /// Bound on lines, which covers a machine with one route for each neighbour.
    private static let maxLines = 10_000

    /// Returns the first hexadecimal digit of the destination and the prefix length; nil for prefixes over /4 and
    /// reject routes.
    private static func wideRoute(_ words: [Substring]) -> (firstDigit: Int, bits: Int)? {
        guard words.count >= 10, words[9] != "lo", let bits = Int(words[1], radix: 16), bits <= 4,
            let digit = words[0].first?.hexDigitValue, let flags = UInt32(words[8], radix: 16), flags & rejects == 0
        else { return nil }
        return (digit, bits)
    }

    private static func lines(_ text: String) -> [[Substring]] {
        text.split(separator: "\n").prefix(maxLines).map { $0.split(separator: " ") }
    }

    var findings: [Finding] {
        if hasPublicAddress, !hasPublicRoute {
            return [
                warning(
                    "a public IPv6 address but no default route: IPv6 connections of programs fail or time out",
                    "ip -6 route; accept router advertisements (accept_ra), or remove the address")
            ]
        }
        if hasDefaultRoute, !hasAddress {
            return [
                warning(
                    "an IPv6 default route but no global address",
                    "ip -6 addr; filter-aaaa = \"no-route\" under [server] stops programs from trying IPv6")
            ]
        }
        let tried = outcomes.filter { $0 != .notDialled && $0 != .noRoute }
        guard hasAddress, !tried.isEmpty, tried.allSatisfy({ $0 == .silent(isConnected: false) }), worksByIPv4 else {
            return []
        }
        return [
            warning(
                "no provider answers over IPv6, but some do over IPv4: IPv6 packets are lost",
                "repair the router's IPv6, or turn it off: sysctl net.ipv6.conf.all.disable_ipv6=1")
        ]
    }

    private func warning(_ text: LocalizedText, _ remedy: LocalizedText) -> Finding {
        Finding(.warning, .ipv6, text, remedy: remedy)
    }
}
