// Finds the addresses at which the daemon answers DNS queries of this machine, and verifies that it does.

import Control
import DNSWire
import LinuxIO

enum DaemonAddresses {
    /// The daemon answers these queries from memory, so 500 ms is generous.
    private static let timeout = Duration.milliseconds(500)
    private static let controlTimeout = Duration.seconds(2)
    private static let port: UInt16 = 53
    private static let maxAnswerBytes = 1 << 20

    /// The daemon's listen addresses, by its `status`.
    struct Told {
        /// The addresses with port 53: only the loopback addresses if there are any, else all.
        let usable: [String]
        /// The addresses with another port, as "ADDR:PORT".
        let otherPorts: [String]

        fileprivate init(_ listeners: [String]) {
            let all = listeners.compactMap { SocketAddress(withZone: $0) }
            let addresses = all.filter { $0.port == port }.map(\.reachable)
            let loopback = addresses.filter(\.address.isLoopback)
            usable = (loopback.isEmpty ? addresses : loopback).map(\.addressText).withoutRepetition
            otherPorts = all.filter { $0.port != port }.map(\.description)
        }
    }

    /// Returns the listen addresses; nil: the status lists no listeners.
    static func told(at socket: String) throws(SystemError) -> Told? {
        let line = "\(Command.Word.status) --json"
        let answer = try LocalExchange.ask(line, at: socket, timeout: controlTimeout, maxBytes: maxAnswerBytes)
        return (StatusReport(answer: answer)?.listeners).map(Told.init)
    }

    /// Returns the addresses at which httpdnsd itself answers a query for a name.
    static func answering(_ addresses: [String]) -> [String] {
        addresses.filter { isReached(through: $0) && proves(.name, at: $0) }
    }

    /// Returns whether queries sent to `address` reach the daemon, directly or through a forwarder.
    static func isReached(through address: String) -> Bool {
        proves(.version, at: address) || proves(.zone, at: address)
    }

    /// Returns whether any nameserver answers at `address`.
    static func isListening(atStub address: String) -> Bool {
        guard let server = SocketAddress(withZone: "\(address):\(port)") else { return false }
        let question = DaemonProof.name.question(id: 0)
        return DatagramExchange.ask(question, at: server, timeout: timeout) { _ in true } != nil
    }

    private static func proves(_ proof: DaemonProof, at address: String) -> Bool {
        let text = address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
        guard let server = SocketAddress(withZone: text) else { return false }
        let id = UInt16(truncatingIfNeeded: SystemEntropy().next())
        // The daemon tells its version to loopback clients only, so the query is sent from a loopback address. A server
        // on another machine is unreachable from there, and it is not the daemon.
        let source = proof == .version ? server.loopback : nil
        return DatagramExchange.ask(proof.question(id: id), at: server, from: source, timeout: timeout) {
            proof.isProved(by: $0, id: id)
        } != nil
    }
}

extension SocketAddress {
    /// The loopback address for a wildcard listen address, else the address itself.
    fileprivate var reachable: SocketAddress {
        isWildcard ? SocketAddress(isIPv6 ? .loopback6 : .loopback4, port: port) : self
    }

    /// The loopback address of the same family, with a port that the kernel chooses.
    fileprivate var loopback: SocketAddress { SocketAddress(isIPv6 ? .loopback6 : .loopback4, port: 0) }

    /// The address without its port.
    fileprivate var addressText: String { scopeID == 0 ? "\(address)" : "\(address)%\(scopeID)" }
}
