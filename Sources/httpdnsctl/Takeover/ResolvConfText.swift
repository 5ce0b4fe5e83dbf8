// Builds and inspects the text of resolv.conf(5).

import DNSWire
import Resolver

enum ResolvConfText {
    /// Number of nameservers that glibc uses (MAXNS).
    static let maxServers = 3

    static let notice = """
        # Written by "httpdnsctl system use": httpdnsd resolves the names of this machine.
        # To have back what was here before: httpdnsctl system restore

        """

    /// Replaces the nameserver lines; keeps search, domain, options and sortlist lines.
    static func ours(addresses: [String], keeping former: [UInt8]) -> [UInt8] {
        let servers = addresses.prefix(maxServers).map { "nameserver \($0)\n" }.joined()
        var text = Array((notice + servers).utf8)
        for line in former.split(separator: lineFeed) where stays.contains(keyword(line)) { text += line + [lineFeed] }
        return text
    }

    private static let stays = ["search", "domain", "options", "sortlist"]
    private static let lineFeed = UInt8(ascii: "\n")

    private static func words(_ line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    }

    private static func keyword(_ line: ArraySlice<UInt8>) -> String {
        words(line).first.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Keeps the lines that the daemon reads. Drops options, which may hold the administrator's own settings.
    static func nameservers(of text: [UInt8]) -> [UInt8] {
        let kept = ["nameserver", "search", "domain"]
        return text.split(separator: lineFeed).filter { kept.contains(keyword($0)) }.flatMap { $0 + [lineFeed] }
    }

    private static func servers(_ text: [UInt8]) -> [Nameserver] {
        NameserverList(resolvConf: text, without: ListenAddresses([])).servers
    }

    /// Returns the first nameserver, without port; nil if the file names none.
    static func firstNameserver(_ text: [UInt8]) -> String? {
        servers(text).first.map { server in "\(server.address)" + (server.zone.map { "%" + $0 } ?? "") }
    }

    /// Returns true if all nameservers are in `addresses`. Without a nameserver line glibc asks 127.0.0.1
    /// (resolv.conf(5)).
    static func leads(_ text: [UInt8], to addresses: [String]) -> Bool {
        let ours = addresses.compactMap { Address($0) }.map { Nameserver($0) }
        let servers = servers(text)
        return (servers.isEmpty ? [Nameserver(.v4(0x7F00_0001))] : servers).allSatisfy(ours.contains)
    }
}
