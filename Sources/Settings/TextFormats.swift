// The strings that settings are made of: addresses, names, paths.

import DNSWire

extension Format<Settings.Endpoint> {
    static let listenEndpoint = Format.text(
        allowed: "\"ADDR:PORT\" or \"[ADDR]:PORT\", such as \"127.0.0.1:53\" or \"[::1]:53\"",
        remedy: { node in
            guard case .string(let text) = node.value else { return nil }
            if let colon = text.lastIndex(of: ":"), !text.hasPrefix("["),
                let endpoint = Settings.Endpoint("[\(text[..<colon])]\(text[colon...])")
            {
                return "an IPv6 address needs brackets: write \"\(endpoint)\""
            }
            return Settings.Endpoint(text, defaultPort: 53).map { "a port is missing: write \"\($0)\"" }
        },
        parse: { Settings.Endpoint($0) }, write: \.description)

    static let nameserver = Format.text(
        allowed: "\"ADDR\", \"ADDR:PORT\" or \"[ADDR]:PORT\"",
        parse: { text in
            Settings.Endpoint(text, defaultPort: 53).flatMap { $0.port == 0 ? nil : $0 }
        },
        write: \.description)
}

extension Format<Prefix> {
    static let prefix = Format.text(
        allowed: "\"ADDR/LENGTH\", such as \"192.168.0.0/16\" or \"fd00::/8\"",
        remedy: { node in
            guard case .string(let text) = node.value, let cut = Prefix(cutting: text) else { return nil }
            return "bits after the prefix are set: write \"\(cut)\""
        },
        parse: { Prefix($0) }, write: \.description)
}

extension Format<Address> {
    static let address = Format.text(
        allowed: "an IPv4 or IPv6 address without port or brackets", parse: { Address($0) }, write: \.description)
}

extension Format<Name> {
    static let name = Format.text(
        allowed: "a domain name, such as \"www.example.com\"",
        parse: { Settings.hostName($0).flatMap { Name($0) } }, write: \.description)

    static let ruleName = Format.text(
        allowed: "a domain name, such as \"example.com\", or \".\" for every name",
        remedy: { node in
            guard case .string(let text) = node.value, text.hasPrefix("*") || text.hasPrefix(".") else { return nil }
            let rest = text.drop { $0 == "*" || $0 == "." }
            if rest.isEmpty { return "write \".\"" }
            return Settings.hostName(String(rest)).map {
                "a name stands for everything under it, too: write \"\($0)\""
            }
        },
        parse: { $0 == "." ? .root : Settings.hostName($0).flatMap { Name($0) } }, write: \.description)
}

extension Format<Settings.ProviderURL> {
    static let providerURL = Format.text(
        allowed: "\"https://HOST[:PORT]/PATH\" or \"http://HOST[:PORT]/PATH\" without user name, query and fragment",
        parse: { Settings.ProviderURL($0) }, write: \.description)
}

extension Format<String> {
    /// Long enough for any name, short enough for a line of statistics.
    private static let maxProviderNameBytes = 32
    /// What a rule may name as its resolver beside providers.
    private static let reservedProviderNames = ["httpdns", "system"]
    /// DNSPod's ids have up to six digits; other dialects will have longer ones.
    private static let maxAccountBytes = 64

    static let providerName = Format.text(
        allowed: "1 to 32 letters, digits, \"-\", \"_\" or \".\"; not \"httpdns\" or \"system\"",
        parse: { text in
            guard (1...maxProviderNameBytes).contains(text.utf8.count), text.utf8.allSatisfy(isWordByte) else {
                return nil
            }
            return reservedProviderNames.contains(text) ? nil : text
        },
        write: { $0 })

    static let account = Format.text(
        allowed: "1 to 64 letters, digits, \"-\", \"_\" or \".\"",
        parse: { (1...maxAccountBytes).contains($0.utf8.count) && $0.utf8.allSatisfy(isWordByte) ? $0 : nil },
        write: { $0 })

    static let hostName = Format.text(
        allowed: "a host name", parse: { Settings.hostName($0) }, write: { $0 })

    static let hostNameOrAddress = Format.text(
        allowed: "a host name or an IP address",
        parse: { text in Address(text).map(\.description) ?? Settings.hostName(text) }, write: { $0 })

    static let hostHeader = Format.text(
        allowed: "\"HOST\" or \"HOST:PORT\"",
        parse: { text in Settings.ProviderURL("http://\(text)/").flatMap { $0.path == "/" ? text : nil } },
        write: { $0 })

    /// What a relative path means depends on where the daemon was started.
    static func path(maxBytes: Int) -> Format {
        .text(
            allowed: "an absolute path of at most \(maxBytes) bytes",
            parse: { text in
                let isSound = text.hasPrefix("/") && text.utf8.count <= maxBytes && !text.utf8.contains(0)
                return isSound ? text : nil
            },
            write: { $0 })
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte.isDigit || (0x61...0x7A).contains(byte.lowercased) || "-_.".utf8.contains(byte)
    }
}
