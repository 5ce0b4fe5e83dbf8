// Selects the system's nameservers from resolv.conf, without this daemon. Reads no file; its inputs are text and
// addresses.

package import DNSWire

package struct NameserverList: Equatable, Sendable {
    package enum Omission: String, Sendable, CaseIterable {
        /// The daemon listens on this address, so a query would loop.
        case ourselves
        case repeated
        case tooMany
        /// The systemd-resolved stub, which forwards to the other listed servers or to this daemon.
        case resolvedStub
    }

    package struct Omitted: Equatable, Sendable {
        package let server: Nameserver
        package let why: Omission
    }

    package let servers: [Nameserver]
    package let omitted: [Omitted]
    /// Values of "nameserver" lines that are no addresses, for the log, cut to the length of a log line.
    package let unreadable: [String]
    package let options: NameserverOptions

    /// Maximum number of servers. glibc stops at 3; more than this number is never reached before a client gives up.
    package static let maxServers = 8
    private static let maxOmitted = 1024

    /// - Parameters:
    ///   - resolvConf: the file's bytes (resolv.conf(5)); "search" and the like are ignored.
    ///   - ourselves: the addresses that the daemon listens on.
    package init(resolvConf text: [UInt8], without ourselves: ListenAddresses) {
        self.init(ResolvConf(text), without: ourselves)
    }

    /// - Parameter orResolvedStub: excludes the systemd-resolved stub, too.
    init(_ resolvConf: ResolvConf, without ourselves: ListenAddresses, orResolvedStub leavesOutStub: Bool = false) {
        var candidates: [Nameserver] = []
        var unreadable: [String] = []
        for word in resolvConf.nameservers {
            if let server = NameserverList.server(word) {
                candidates.append(server)
            } else if unreadable.count < NameserverList.maxServers {
                unreadable.append(word)
            }
        }
        self.init(
            candidates, without: ourselves, leavesOutStub: leavesOutStub, unreadable: unreadable,
            options: resolvConf.options)
    }

    /// Creates the list from servers that the settings name; the same rules apply.
    package init(_ candidates: [Nameserver], without ourselves: ListenAddresses) {
        self.init(
            candidates, without: ourselves, leavesOutStub: false, unreadable: [], options: NameserverOptions())
    }

    private init(
        _ candidates: [Nameserver], without ourselves: ListenAddresses, leavesOutStub: Bool, unreadable: [String],
        options: NameserverOptions
    ) {
        var servers: [Nameserver] = []
        var omitted: [Omitted] = []
        for server in candidates {
            let why: Omission? =
                if ourselves.contains(server) {
                    .ourselves
                } else if leavesOutStub, server.isResolvedStub {
                    .resolvedStub
                } else if servers.contains(server) {
                    .repeated
                } else if servers.count == NameserverList.maxServers {
                    .tooMany
                } else { nil }
            if let why {
                if omitted.count < NameserverList.maxOmitted { omitted.append(Omitted(server: server, why: why)) }
            } else {
                servers.append(server)
            }
        }
        self.servers = servers
        self.omitted = omitted
        self.unreadable = unreadable
        self.options = options
    }

    private static func server(_ text: String) -> Nameserver? {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = parts.first.flatMap(Address.init)?.connectable else { return nil }
        guard parts.count == 2 else { return Nameserver(address) }
        guard !parts[1].isEmpty, case .v6 = address else { return nil }
        return Nameserver(address, zone: parts[1])
    }
}

extension Nameserver {
    /// systemd-resolved.service(8): 127.0.0.53, and 127.0.0.54 for unmodified answers.
    var isResolvedStub: Bool {
        port == Nameserver.standardPort && (address == .v4(0x7F00_0035) || address == .v4(0x7F00_0036))
    }
}

/// The addresses that the daemon listens on, to recognise itself in a list of servers.
package struct ListenAddresses: Sendable {
    private let sockets: [(address: Address, port: UInt16)]
    private let interfaces: Set<Address>

    /// - Parameters:
    ///   - sockets: the sockets as bound; wildcards stand for every address of their family.
    ///   - interfaces: the machine's own addresses, which wildcards cover as well as loopback.
    package init(_ sockets: [(address: Address, port: UInt16)], interfaces: [Address] = []) {
        self.sockets = sockets.map { ($0.address.unmapped, $0.port) }
        self.interfaces = Set(interfaces.map(\.unmapped))
    }

    func contains(_ server: Nameserver) -> Bool {
        let address = server.address.unmapped.connectable
        return sockets.contains { socket in
            guard socket.port == server.port else { return false }
            guard socket.address.isUnspecified else { return socket.address == address }
            guard socket.address.recordType == address.recordType else { return false }
            return address.isLoopback || interfaces.contains(address)
        }
    }
}

extension Address {
    fileprivate var unmapped: Address { mapped ?? self }

    package var isUnspecified: Bool { self == .v4(0) || self == .v6(high: 0, low: 0) }

    /// Linux connects to loopback for the unspecified address, which some files use.
    fileprivate var connectable: Address {
        switch self {
        case .v4(0): .v4(0x7F00_0001)
        case .v6(high: 0, low: 0): .v6(high: 0, low: 1)
        case .v4, .v6: self
        }
    }
}
