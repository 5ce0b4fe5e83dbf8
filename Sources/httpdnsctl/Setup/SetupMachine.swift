// What `setup` knows of this machine when it reads the answers.

import DNSWire
import LinuxIO

struct SetupMachine: Sendable {
    /// A key file, as far as the daemon can use it.
    enum KeyFile: Equatable, Sendable {
        case usable
        /// A new file can be written there.
        case missing
        /// The text has the remedy.
        case fault(String)
    }

    var addresses: [InterfaceAddress] = []
    /// Whether this process may change the machine's resolver.
    var isRoot = true
    /// Whether files are written at all; otherwise nothing is checked that only the daemon needs.
    var isDryRun = false
    /// The directory for a key file without another path.
    var directory = "/etc/httpdnsd"
    var keyFile: @Sendable (String) -> KeyFile = { _ in .usable }

    /// A screen has room for no more.
    private static let maxChoices = 8

    /// The addresses at which other machines can reach this one. IPv6 link-local addresses are left out, because a
    /// settings file cannot name their interface.
    var lanAddresses: [InterfaceAddress] {
        let reachable = addresses.filter { !$0.address.isLoopback && !$0.address.isLinkLocal6 }
        let sorted = reachable.filter { !$0.address.isIPv6 } + reachable.filter(\.address.isIPv6)
        return Array(sorted.prefix(SetupMachine.maxChoices))
    }

    /// Nil if no interface has the address.
    func network(of address: Address) -> Prefix? { addresses.first { $0.address == address }?.network }
}

extension Address {
    /// fe80::/10
    fileprivate var isLinkLocal6: Bool {
        guard case .v6(let high, _) = self else { return false }
        return high >> 54 == 0x3FA
    }
}
