// The text of resolv.conf(5): ours, made from what was there, and whom one leads to.

enum ResolvConfText {
    /// glibc reads no more (MAXNS).
    static let maxServers = 3

    static let notice = """
        # Written by "httpdnsctl system use": httpdnsd resolves the names of this machine.
        # To have back what was here before: httpdnsctl system restore

        """

    /// The lines that say something else than a nameserver stay as they are.
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

    /// In their order.
    static func nameservers(_ text: [UInt8]) -> [String] {
        text.split(separator: lineFeed).compactMap { line in
            let words = words(line)
            guard words.count >= 2, keyword(line) == "nameserver" else { return nil }
            return String(decoding: words[1], as: UTF8.self)
        }
    }

    /// Whether all names go to `addresses`. Without a nameserver glibc asks 127.0.0.1 (resolv.conf(5)).
    static func leads(_ text: [UInt8], to addresses: [String]) -> Bool {
        let servers = nameservers(text)
        return (servers.isEmpty ? ["127.0.0.1"] : servers).allSatisfy(addresses.contains)
    }
}

extension Survey {
    /// Whom programs ask first; nil where the file names nobody.
    package var firstNameserver: String? { ResolvConfText.nameservers(resolvConfContent).first }

    package func leads(to addresses: [String]) -> Bool { ResolvConfText.leads(resolvConfContent, to: addresses) }
}
