// Where the daemon can be asked by programs of this machine, and whether it answers there.

import Control
import LinuxIO
import Takeover

enum DaemonAddresses {
    /// A daemon answers this from memory.
    private static let timeout = Duration.milliseconds(500)
    private static let controlTimeout = Duration.seconds(2)
    private static let port: UInt16 = 53
    private static let maxAnswerBytes = 1 << 20

    /// By its own word: addresses at port 53, loopback first; nil: it does not say.
    static func told(at socket: String) throws(SystemError) -> [String]? {
        let line = "\(Command.Word.status) --json"
        let answer = try LocalExchange.ask(line, at: socket, timeout: controlTimeout, maxBytes: maxAnswerBytes)
        guard let listeners = StatusReport(answer: answer)?.listeners else { return nil }
        let addresses = listeners.compactMap { SocketAddress($0) }.filter { $0.port == port }.map(\.reachable)
        let loopback = addresses.filter(\.isLoopback)
        let all = (loopback.isEmpty ? addresses : loopback).map(\.addressText)
        return all.enumerated().filter { !all[..<$0.offset].contains($0.element) }.map(\.element)
    }

    /// Those of `addresses` at which the daemon answers: that it is httpdnsd, and that it answers about names.
    static func answering(_ addresses: [String]) -> [String] {
        addresses.filter { isReached(through: $0) && proves(.name, at: $0) }
    }

    /// Whether names that are asked of `address` come from the daemon, directly or through somebody else.
    static func isReached(through address: String) -> Bool {
        proves(.version, at: address) || proves(.zone, at: address)
    }

    /// Whether anybody answers there, whatever it is.
    static func isListening(atStub address: String) -> Bool {
        guard let server = SocketAddress("\(address):\(port)") else { return false }
        let question = DaemonProof.name.question(id: 0)
        return DatagramExchange.ask(question, at: server, timeout: timeout) { _ in true } != nil
    }

    private static func proves(_ proof: DaemonProof, at address: String) -> Bool {
        guard let server = SocketAddress(address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)") else {
            return false
        }
        let id = UInt16(truncatingIfNeeded: SystemEntropy().next())
        // It tells its version to loopback alone, and so it is asked from there, wherever it is. Who is not of this
        // machine can't be, and is not the daemon.
        let source = proof == .version ? server.loopback : nil
        return DatagramExchange.ask(proof.question(id: id), at: server, from: source, timeout: timeout) {
            proof.isProved(by: $0, id: id)
        } != nil
    }
}

extension SocketAddress {
    /// Who listens at every address is asked at loopback.
    fileprivate var reachable: SocketAddress {
        guard isWildcard else { return self }
        return SocketAddress(isIPv6 ? "[::1]:\(port)" : "127.0.0.1:\(port)") ?? self
    }

    /// Of the same family, with a port of the kernel's choice.
    fileprivate var loopback: SocketAddress? { SocketAddress(isIPv6 ? "[::1]:0" : "127.0.0.1:0") }

    fileprivate var isLoopback: Bool { addressText.hasPrefix("127.") || addressText == "::1" }

    /// Without port.
    fileprivate var addressText: String {
        let text = description
        let host = text[..<(text.lastIndex(of: ":") ?? text.endIndex)]
        return String(isIPv6 ? host.dropFirst().dropLast() : host)
    }
}
