// The facts about this machine that `setup` has when it reads the answers.

import DNSWire
import LinuxIO

struct SetupMachine: Sendable {
    /// A key file, as far as the daemon can use it.
    enum KeyFile: Equatable, Sendable {
        case usable
        /// The file does not exist, and a new file can be written at the path.
        case missing
        /// The file cannot be used; the text has the remedy.
        case fault(LocalizedText)
    }

    var addresses: [InterfaceAddress] = []
    /// Whether this process may change the machine's resolver.
    var isRoot = true
    /// Whether files are written at all; otherwise nothing is checked that only the daemon needs.
    var isDryRun = false
    /// The directory for a key file without another path.
    var directory = "/etc/httpdnsd"
    var keyFile: @Sendable (String) -> KeyFile = { _ in .usable }
    /// Returns the addresses of a host name by this machine's resolver; empty if it finds none.
    var resolve: @Sendable (String) -> [Address] = { _ in [] }

    /// Bound on choices: a screen has room for no more.
    private static let maxChoices = 8

    /// The addresses at which other machines can reach this one. IPv6 link-local addresses are left out, because a
    /// settings file cannot name their interface.
    var lanAddresses: [InterfaceAddress] {
        let reachable = addresses.filter { !$0.address.isLoopback && !$0.address.isLinkLocal6 }
        let sorted = reachable.filter { !$0.address.isIPv6 } + reachable.filter(\.address.isIPv6)
        return Array(sorted.prefix(SetupMachine.maxChoices))
    }

    /// Returns the network of an interface's address; nil if no interface has the address, or only as a network of one
    /// address.
    func network(of address: Address) -> Prefix? {
        addresses.first { $0.address == address && $0.prefixLength < address.bytes.count * 8 }?.network
    }

    /// Returns in words which other machines reach this one at the address.
    func clients(of address: Address) -> LocalizedText {
        network(of: address).map { "those of \($0)" } ?? "others"
    }

    /// Why other machines cannot query at the address, and what to name instead; nil if they can.
    func fault(ofLAN address: Address) -> LocalizedText? {
        if let mapped = address.mapped { return "\(address) is an IPv4 address in IPv6 form; write \(mapped)" }
        if address.isLinkLocal6 {
            return "\(address) is link-local, and settings cannot name its interface; name another address here"
        }
        guard !address.isLoopback, address.isUnicast, !isEndOfNetwork(address) else {
            return "other machines can't reach this one at \(address); name an address of one of its interfaces"
        }
        return nil
    }

    /// Whether the address stands for an IPv4 network of this machine as a whole: its first and its broadcast address.
    private func isEndOfNetwork(_ address: Address) -> Bool {
        guard case .v4(let value) = address else { return false }
        return addresses.compactMap(\.network).contains { network in
            guard network.length < 31, network.contains(address) else { return false }
            let host = UInt32.max >> UInt32(network.length)
            return value & host == 0 || value & host == host
        }
    }
}

extension Address {
    /// Whether the address is not "this network" (0.0.0.0/8, ::), multicast, reserved (240.0.0.0/4) or broadcast.
    fileprivate var isUnicast: Bool {
        switch self {
        case .v4(let value): (1..<224).contains(value >> 24)
        case .v6(let high, let low): high >> 56 != 0xFF && (high, low) != (0, 0)
        }
    }
}
