// The string formats of the settings: addresses, names, paths.

import DNSWire
import InternationalNames

extension Format<SocketAddress> {
    static let listenEndpoint = Format.text(
        allowed: "\"ADDR:PORT\" or \"[ADDR]:PORT\", such as \"127.0.0.1:53\" or \"[::1]:53\"",
        schema: .matching(TextPattern.endpoint(0...65_535)),
        remedy: { text in
            if let colon = text.lastIndex(of: ":"), !text.hasPrefix("["),
                let endpoint = SocketAddress("[\(text[..<colon])]\(text[colon...])")
            {
                return "an IPv6 address needs brackets: write \"\(endpoint)\""
            }
            return SocketAddress(text, defaultPort: 53).map { "a port is missing: write \"\($0)\"" }
        },
        parse: { SocketAddress($0) }, write: \.description)

    static let nameserver = Format.text(
        allowed: "\"ADDR\", \"ADDR:PORT\" or \"[ADDR]:PORT\"", schema: .matching(TextPattern.server),
        parse: { text in
            SocketAddress(text, defaultPort: 53).flatMap { $0.port == 0 ? nil : $0 }
        },
        write: \.description)
}

extension Format<Prefix> {
    static let prefix = Format.text(
        allowed: "\"ADDR/LENGTH\", such as \"192.168.0.0/16\" or \"fd00::/8\"",
        schema: .matching(TextPattern.prefix(isLengthOptional: true)),
        remedy: cut, parse: { Prefix($0) }, write: \.description)

    @Sendable fileprivate static func cut(_ text: String) -> String? {
        let length = text.lastIndex(of: "/") ?? text.startIndex
        if Address(text) == nil, let port = text[length...].lastIndex(of: ":"),
            let prefix = Prefix(String(text[..<port]))
        {
            return "leave out the port: write \"\(prefix)\""
        }
        guard let cut = Prefix(cutting: text) else { return nil }
        return "bits after the prefix are set: write \"\(cut)\""
    }
}

extension Format<Settings.Provider.ClientSubnet> {
    static let clientSubnet = Format.text(
        allowed: "\"ADDR/LENGTH\", such as \"192.0.2.0/24\", or \"auto\"",
        schema: .matching("auto|\(TextPattern.prefix(isLengthOptional: false))"),
        remedy: Format<Prefix>.cut,
        parse: { text in
            if text == "auto" { return .auto }
            // A single address would reveal more than a network, so it requires an explicit length.
            return text.contains("/") ? Prefix(text).map { .fixed($0) } : nil
        },
        write: { subnet in
            switch subnet {
            case .fixed(let prefix): prefix.description
            case .auto: "auto"
            }
        })
}

extension Format<Settings.Provider.Proxy> {
    static let proxy = Format.text(
        allowed: "\"http://[USER@]ADDR:PORT\" or \"socks5h://[USER@]ADDR:PORT\" with an IP address",
        schema: .matching(TextPattern.proxy), secrecy: .always,
        remedy: { text in
            guard let separator = text.firstRange(of: "://") else { return nil }
            let rest = text[separator.upperBound...]
            if let at = rest.lastIndex(of: "@"), rest[..<at].contains(":") {
                return "put the password into a file of its own and name that with proxy-key-file"
            }
            let place = rest.lastIndex(of: "@").map { rest[$0...].dropFirst() } ?? rest
            guard let address = SocketAddress(String(place), defaultPort: 1) else {
                return "the daemon does not resolve names through itself: write the address of the proxy, with its port"
            }
            if text.hasPrefix("socks"), !text.hasPrefix("socks5h:") { return "did you mean socks5h?" }
            return address.port == 1 ? "a port is missing" : nil
        },
        parse: { Settings.Provider.Proxy($0) }, write: \.description)
}

extension Format<Settings.Rule.RuleResolver> {
    /// The format of `resolver`, which is checked after all tables are read. A name that a nameserver has becomes that
    /// nameserver's.
    static let ruleResolver = Format.text(
        allowed: "\"httpdns\", \"system\", \"link\" or the name of a [[provider]] or [[nameserver]]",
        // One of the words has the form of a name, too.
        schema: .matching(TextPattern.word(upTo: Format<String>.maxProviderNameBytes)),
        parse: { text in
            switch text {
            case "httpdns": .httpdns
            case "system": .system
            case "link": .link
            default: .provider(text)
            }
        },
        write: { resolver in
            switch resolver {
            case .httpdns: "httpdns"
            case .system: "system"
            case .link: "link"
            case .provider(let name), .nameserver(let name): name
            }
        })
}

extension Format<String> {
    /// A user name as useradd(8) accepts it. Rejects numbers, which could mean root (0).
    static let userName = Format.text(
        allowed: "the name of a user of this machine, but not root",
        schema: .matching(
            "([A-Za-z._]|[0-9]+[A-Za-z._-])[0-9A-Za-z._-]*", maxBytes: maxUserBytes, butNot: ["root"]),
        remedy: { text in
            guard text == "root" else { return nil }
            return "the daemon drops root privileges after it has bound the ports: name an unprivileged user"
        },
        parse: { text in
            let isName =
                (1...maxUserBytes).contains(text.utf8.count)
                && text.utf8.allSatisfy { isWordByte($0) } && text.utf8.contains { !$0.isDigit } && text.first != "-"
            return isName && text != "root" ? text : nil
        },
        write: { $0 })
}

/// Maximum size of a user name: LOGIN_NAME_MAX of Linux is 256; useradd takes 32 at most.
private let maxUserBytes = 32

extension Format<Address> {
    static let address = Format.text(
        allowed: "an IPv4 or IPv6 address without port or brackets", schema: .matching(TextPattern.address),
        parse: { Address($0) }, write: \.description)
}

extension Format<Name> {
    static let name = Format.text(
        allowed: "a domain name, such as \"www.example.com\"", schema: .matching(TextPattern.hostName),
        remedy: { InternationalName.remedy($0) },
        parse: { Settings.hostName($0).flatMap { Name($0) } }, write: \.description)

    static let ruleName = Format.text(
        allowed: "a domain name, such as \"example.com\", or \".\" for every name",
        schema: .matching("\\.|\(TextPattern.hostName)"),
        remedy: { text in
            guard text.hasPrefix("*") || text.hasPrefix(".") else { return InternationalName.remedy(text) }
            let rest = text.drop { $0 == "*" || $0 == "." }
            if rest.isEmpty { return "write \".\"" }
            return Settings.hostName(String(rest)).map {
                "a name includes its subdomains: write \"\($0)\""
            }
        },
        parse: { $0 == "." ? .root : Settings.hostName($0).flatMap { Name($0) } }, write: \.description)
}

extension Format<Settings.ProviderURL> {
    static let providerURL = Format.text(
        allowed: "\"https://HOST[:PORT]/PATH\" or \"http://HOST[:PORT]/PATH\" without user name, query and fragment",
        schema: .matching(TextPattern.url, maxBytes: Settings.ProviderURL.maxBytes),
        secrecy: .unless(Settings.ProviderURL.isPublic),
        remedy: { text in
            if !text.contains("://"), Settings.ProviderURL.isPublic(text),
                let url = Settings.ProviderURL("https://\(text)")
            {
                return "a scheme is missing: write \"\(url)\""
            }
            return Settings.ProviderURL.remedy(text)
        },
        parse: { Settings.ProviderURL($0) }, write: \.description)
}

extension Format<Settings.ReceiverURL> {
    /// The format of a receiver's URL. Errors do not show the value: path and query may hold a token, and a user may
    /// have a password.
    static let receiverURL = Format.text(
        allowed: "\"https://HOST[:PORT]/PATH[?QUERY]\" or \"http://HOST[:PORT]/PATH[?QUERY]\" without user name and "
            + "fragment",
        schema: .matching(TextPattern.url + TextPattern.urlQuery, maxBytes: Settings.ProviderURL.maxBytes),
        secrecy: .always, parse: { Settings.ReceiverURL($0) }, write: \.description)
}

extension Format<String> {
    /// Maximum size of a provider's name: it fits any vendor's name and a statistics line.
    fileprivate static let maxProviderNameBytes = 32
    /// Values of `resolver` in rules that are not provider names.
    private static let reservedProviderNames = ["httpdns", "system", "link"]
    /// Maximum size of a credential's name: NAME_MAX of Linux, since a credential is a file.
    private static let maxCredentialBytes = 255
    /// Maximum size of a template: it fits on a line of a settings file even with every character escaped.
    private static let maxTemplateBytes = 2000
    /// Maximum size of an account. DNSPod's ids have up to six digits; other vendors use longer ones.
    private static let maxAccountBytes = 64

    static let providerName = Format.text(
        allowed: "1 to 32 letters, digits, \"-\", \"_\" or \".\"; not \"httpdns\", \"system\" or \"link\"",
        schema: .matching(TextPattern.word(upTo: maxProviderNameBytes), butNot: reservedProviderNames),
        parse: { text in
            guard (1...maxProviderNameBytes).contains(text.utf8.count), text.utf8.allSatisfy(isWordByte) else {
                return nil
            }
            return reservedProviderNames.contains(text) ? nil : text
        },
        write: { $0 })

    static let plainName = Format.text(
        allowed: "1 to 32 letters, digits, \"-\", \"_\" or \".\"",
        schema: .matching(TextPattern.word(upTo: maxProviderNameBytes)),
        parse: { (1...maxProviderNameBytes).contains($0.utf8.count) && $0.utf8.allSatisfy(isWordByte) ? $0 : nil },
        write: { $0 })

    /// An interface name as the kernel accepts it (dev_valid_name), in ASCII.
    static let interfaceName = Format.text(
        allowed: "the name of a network interface: 1 to 15 printable characters, but not \"/\", \":\", \"%\" or a "
            + "space",
        schema: .matching("[!-$&-.0-9;-~]{1,15}", butNot: [".", ".."]),
        parse: { text in
            let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"/:%".utf8.contains($0) }
            return (1...15).contains(text.utf8.count) && isPlain && text != "." && text != ".." ? text : nil
        },
        write: { $0 })

    static let account = Format.text(
        allowed: "1 to 64 letters, digits, \"-\", \"_\" or \".\"",
        schema: .matching(TextPattern.word(upTo: maxAccountBytes)), secrecy: .always,
        parse: { (1...maxAccountBytes).contains($0.utf8.count) && $0.utf8.allSatisfy(isWordByte) ? $0 : nil },
        write: { $0 })

    /// The format of a key file. Secrets are not part of the settings: they come from a separate file or a systemd
    /// credential.
    static let keyFile = Format.text(
        allowed: "the absolute path of a file, or the name of a systemd credential",
        schema: .matching(
            "\(TextPattern.path)|\(TextPattern.word(upTo: maxCredentialBytes))", maxBytes: maxPathBytes,
            butNot: [".", ".."]),
        secrecy: .unless(Settings.Provider.isPublic(file:)),
        parse: { text in
            if text.hasPrefix("/") { return text.utf8.count <= maxPathBytes && !text.utf8.contains(0) ? text : nil }
            let isName = (1...maxCredentialBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isWordByte)
            return isName && text != "." && text != ".." ? text : nil
        },
        write: { $0 })

    /// The format of a template: printable ASCII, so that it cannot end a line of an HTTP request.
    static func template(minBytes: Int = 0, _ secrecy: Secrecy = .none) -> Format {
        .text(
            allowed: "\(minBytes) to \(maxTemplateBytes) printable ASCII characters",
            schema: .matching(TextPattern.printable(minBytes...maxTemplateBytes)), secrecy: secrecy,
            parse: { text in
                let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
                return isPlain && (minBytes...maxTemplateBytes).contains(text.utf8.count) ? text : nil
            },
            write: { $0 })
    }

    static let hostName = Format.text(
        allowed: "a host name", schema: .matching(TextPattern.hostName), remedy: { InternationalName.remedy($0) },
        parse: { Settings.hostName($0) },
        write: { $0 })

    static let hostNameOrAddress = Format.text(
        allowed: "a host name or an IP address",
        schema: .matching("\(TextPattern.address)|\(TextPattern.hostName)"), remedy: { InternationalName.remedy($0) },
        parse: { text in Address(text).map(\.description) ?? Settings.hostName(text) }, write: { $0 })

    static let hostHeader = Format.text(
        allowed: "\"HOST\" or \"HOST:PORT\"", schema: .matching(TextPattern.urlAuthority),
        remedy: { Settings.ProviderURL.remedy("http://\($0)") },
        parse: { text in
            guard let url = Settings.ProviderURL("http://\(text)/"), url.path == "/" else { return nil }
            return Settings.ProviderURL.ascii(authority: text)
        },
        write: { $0 })

    /// The format of an absolute path: a relative one depends on the daemon's working directory.
    static func path(maxBytes: Int = maxPathBytes) -> Format {
        .text(
            allowed: "an absolute path of at most \(maxBytes) bytes",
            schema: .matching(TextPattern.path, maxBytes: maxBytes),
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

/// Maximum size of a path: PATH_MAX of Linux, including the final NUL.
private let maxPathBytes = 4095
