// The operator's nameservers with their certificate authorities, read with the settings, so that errors in a file are
// reported then.

import Crypto
package import DNSWire
import LinuxIO
import Resolver
package import Settings

package struct NameserverSetup {
    package let nameservers: [Settings.Nameserver]
    /// TLS contexts for servers with DNS over TLS, by `caFile`.
    let contexts: [String?: TLSContext]

    package static var none: NameserverSetup { NameserverSetup(nameservers: [], contexts: [:]) }

    private init(nameservers: [Settings.Nameserver], contexts: [String?: TLSContext]) {
        (self.nameservers, self.contexts) = (nameservers, contexts)
    }

    /// Reports all errors together.
    ///
    /// - Parameters:
    ///   - file: named in complaints.
    ///   - listen: the daemon's own addresses.
    package init(
        _ nameservers: [Settings.Nameserver], settingsFile file: String, listen: [SocketAddress]
    ) throws(UnusableSettings) {
        var contexts: [String?: TLSContext] = [:]
        var complaints = nameservers.flatMap { nameserver in
            NameserverSetup.loops(nameserver, listen).map { server in
                "\(file): nameserver.servers of \"\(nameserver.name)\": found \"\(server)\", "
                    + "where the daemon itself listens; allowed: other servers"
            }
        }
        for nameserver in nameservers
        where contexts[nameserver.caFile] == nil && nameserver.servers.contains(where: { $0.transport != .plain }) {
            do throws(CryptoError) {
                contexts[nameserver.caFile] = try TLSContext(
                    caFile: nameserver.caFile, protocols: [], for: .requests)
            } catch {
                complaints.append(
                    "\(file): nameserver.ca-file of \"\(nameserver.name)\": found a file that "
                        + "can't be used (\(error.text)); allowed: a readable file with certificates in PEM, or "
                        + "\"\" for the system's")
            }
        }
        guard complaints.isEmpty else { throw UnusableSettings(complaints: complaints) }
        self.init(nameservers: nameservers, contexts: contexts)
    }

    /// The servers that are this daemon.
    private static func loops(_ nameserver: Settings.Nameserver, _ listen: [SocketAddress]) -> [Nameserver] {
        let ourselves = ListenAddresses(listen.map { ($0.address, $0.port) }, interfaces: Interfaces.addresses())
        let list = NameserverList(nameserver.servers.map { Nameserver($0.endpoint) }, without: ourselves)
        return list.omitted.filter { $0.why == .ourselves }.map(\.server)
    }
}

extension Nameserver {
    package init(_ server: SocketAddress) {
        self.init(server.address, port: server.port)
    }
}
