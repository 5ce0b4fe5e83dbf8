// Checks the keys of a [[provider]] together: missing keys, keys that the dialect does not use, and conflicts between
// keys.

import DNSWire

extension ProviderDraft {
    private typealias Dialect = Settings.Provider.Dialect

    /// Missing or conflicting keys, each with the key concerned, or nil for the whole table. Empty if `provider`
    /// returns a value.
    var contradictions: [Contradiction] {
        var list: [Contradiction] = []
        let required = [
            ("name", name == nil, "my-provider"), ("dialect", dialect == nil, "doh"),
            ("url", url == nil, "https://HOST/PATH"),
        ]
        for (key, isMissing, example) in required where isMissing {
            list.append((nil, "this [[provider]] has no \(key); write, for example, \(key) = \(quoted(example))"))
        }
        if let dialect { list += misplaced(with: dialect) + missing(with: dialect) + halves(with: dialect) }
        if let url { list += contradictions(with: url) }
        return list + ciphers + proxies + ownNames
    }

    /// Keys that only some dialects accept.
    private func misplaced(with dialect: Dialect) -> [Contradiction] {
        let keys: [(key: Dialect.Key, isSet: Bool)] = [
            (.account, account != nil), (.accessKey, accessKey != nil), (.keyFile, keyFile != nil),
            (.cipher, cipher != nil), (.cipherKeyFile, cipherKeyFile != nil), (.expiring, expiring != nil),
            (.region, region != nil), (.serviceNodes, serviceNodes != nil), (.clientSubnet, clientSubnet != nil),
            (.clientSubnetForm, clientSubnetForm != nil), (.method, method != nil), (.trustAD, trustAD != nil),
            (.template, template != nil),
        ]
        let refused = keys.filter(\.isSet).compactMap { key, _ in
            dialect.refusal(of: key).map { (key: key.rawValue, text: $0) }
        }
        return (refused + parameters.misplaced(with: dialect)).map { ($0.key, "provider.\($0.key): \($0.text)") }
    }

    private func missing(with dialect: Dialect) -> [Contradiction] {
        let needs = "dialect \(quoted(dialect.rawValue)) needs"
        let keys: [(key: Dialect.Key, isSet: Bool, text: String)] = [
            (
                .account, account != nil,
                "account; \(needs) the id that the vendor gave you: write account = \"ID\""
            ),
            (
                .keyFile, keyFile != nil,
                "key-file; \(needs) a file with the account's token or key: "
                    + "write key-file = \"/etc/httpdnsd/\(dialect.rawValue).key\""
            ),
            (.template, template != nil, "[provider.template]; \(needs) it behind the other keys"),
        ]
        return keys.filter { !$0.isSet && dialect.facts.needs.contains($0.key) }
            .map { (nil, "this [[provider]] has no \($0.text)") }
    }

    /// Returns the missing keys of a dialect that signs with three keys, all of which are required.
    private func halves(with dialect: Dialect) -> [Contradiction] {
        let keys = [("account", account != nil), ("access-key", accessKey != nil), ("key-file", keyFile != nil)]
        let (set, unset) = (keys.filter(\.1).map(\.0), keys.filter { !$0.1 }.map(\.0))
        guard dialect.facts.takesWholeAccount, let first = set.first, !unset.isEmpty else { return [] }
        return [
            (
                first,
                "provider.\(first): found without \(unset.joined(separator: " and ")); allowed with dialect "
                    + "\(quoted(dialect.rawValue)): account, access-key and key-file together, or none of them"
            )
        ]
    }

    private func contradictions(with url: Settings.ProviderURL) -> [Contradiction] {
        var list: [Contradiction] = []
        if case .name(let host) = url.host, addresses.isEmpty, !url.isSecure {
            list.append(
                (
                    "url",
                    "provider.url: found the host name \(quoted(host)) with http and no addresses; without a "
                        + "certificate a forged address would not be noticed: use https, or add "
                        + "addresses = [\"...\"]"
                ))
        }
        guard !url.isSecure else { return list }
        for (key, isSet) in [("sni", sni != nil), ("verify-name", verifyName != nil), ("ca-file", caFile != nil)]
        where isSet {
            list.append((key, "provider.\(key): found with an http URL; allowed: with https"))
        }
        if trustAD == true {
            list.append(
                (
                    "trust-ad",
                    "provider.trust-ad: found true with an http URL, where a host on the path can forge replies; "
                        + "allowed: with https"
                ))
        }
        if let dialect, dialect.facts.sendsKey, provider?.addresses.allSatisfy(\.isLoopback) == false {
            list.append(
                (
                    "url",
                    "provider.url: found an http URL with dialect \(quoted(dialect.rawValue)), which sends the "
                        + "token as it is; allowed: https, and http to a loopback address"
                ))
        }
        return list
    }

    private var ciphers: [Contradiction] {
        // With any other dialect both keys are errors, which `misplaced` reports.
        guard dialect?.accepts(.cipher) == true else { return [] }
        return switch (cipher, cipherKeyFile) {
        case (.cbc, nil), (.gcm, nil):
            [("cipher", "provider.cipher: found without cipher-key-file; name the file with the AES key there")]
        case (.plain, .some):
            [
                (
                    "cipher-key-file",
                    "provider.cipher-key-file: found with cipher \"none\"; allowed: with \"cbc\", \"gcm\""
                )
            ]
        default: []
        }
    }

    private var ownNames: [Contradiction] {
        let key = names.isEmpty ? namesFile.map { _ in "names-file" } : "names"
        if let key, shadow != nil {
            return [
                ("shadow", "provider.shadow: found with \(key); allowed: without, as a shadow is asked for any name")
            ]
        }
        if viewsOnly == true, let other = key ?? shadow.map({ _ in "shadow" }) {
            return [("views-only", "provider.views-only: found with \(other); allowed: without")]
        }
        guard key == nil, let exclusive else { return [] }
        return [
            (
                "exclusive",
                "provider.exclusive: found \(exclusive) without names or names-file; write names = [\"example.com\"]"
            )
        ]
    }

    private var proxies: [Contradiction] {
        guard proxyKeyFile != nil, proxy?.user == nil else { return [] }
        let finding = proxy == nil ? "without proxy" : "with a proxy without a user"
        return [
            ("proxy-key-file", "provider.proxy-key-file: found \(finding); write proxy = \"http://USER@ADDR:PORT\"")
        ]
    }
}

extension Settings.Provider.Template {
    /// Keys that every template needs and this one lacks.
    var contradictions: [String] {
        var list: [String] = []
        if query.isEmpty { list.append("this [provider.template] has no query; every template needs it") }
        if v4.isEmpty, v6.isEmpty {
            list.append("this [provider.template] has neither v4 nor v6; it needs where a reply holds addresses")
        }
        return list
    }
}
