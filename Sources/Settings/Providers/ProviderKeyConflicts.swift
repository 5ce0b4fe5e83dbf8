// Checks the keys of a [[provider]] together: missing keys, keys that the dialect does not use, and conflicts between
// keys.

import DNSWire

extension Settings.Provider {
    func contradictions(_ given: Set<String>) -> [Contradiction] {
        var list: [Contradiction] = []
        if given.contains("dialect") {
            let misplaced = dialect.misplaced(given, tags: parameters.tags)
            list += misplaced.map { ($0.key, "provider.\($0.key): \($0.text)") } + missing(given) + halves
        }
        if given.contains("url") { list += contradictionsWithURL(given) }
        return list + (given.contains("dialect") ? ciphers : []) + proxies + ownNames(given)
    }

    /// Returns the provider with derived defaults; nil if a required key is missing.
    func completed(_ given: Set<String>) -> Self? {
        var provider = self
        provider.addresses = url.dialled(addresses)
        guard given.isSuperset(of: Self.requiredKeys), !provider.addresses.isEmpty || url.isSecure else {
            return nil
        }
        if cipherKeyFile != nil { provider.cipher = cipher ?? .gcm }
        if !given.contains("service-nodes") {
            provider.serviceNodes = dialect.accepts(.serviceNodes) && dialect.facts.usesNodes
        }
        return provider
    }

    private func missing(_ given: Set<String>) -> [Contradiction] {
        let needs = "dialect \(quoted(dialect.rawValue)) needs"
        let keys: [(key: Dialect.Key, text: String)] = [
            (.account, "account; \(needs) the id that the vendor gave you: write account = \"ID\""),
            (
                .keyFile,
                "key-file; \(needs) a file with the account's token or key: "
                    + "write key-file = \"/etc/httpdnsd/\(dialect.rawValue).key\""
            ),
            (.template, "[provider.template]; \(needs) it behind the other keys"),
        ]
        return keys.filter { !given.contains($0.key.rawValue) && dialect.facts.needs.contains($0.key) }
            .map { (nil, "this [[provider]] has no \($0.text)") }
    }

    /// The missing keys of a dialect that signs with three keys, all of which are required.
    private var halves: [Contradiction] {
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

    private func contradictionsWithURL(_ given: Set<String>) -> [Contradiction] {
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
        for key in ["sni", "verify-name", "ca-file"] where given.contains(key) {
            list.append((key, "provider.\(key): found with an http URL; allowed: with https"))
        }
        if trustAD {
            list.append(
                (
                    "trust-ad",
                    "provider.trust-ad: found true with an http URL, where a host on the path can forge replies; "
                        + "allowed: with https"
                ))
        }
        if dialect.facts.sendsKey, completed(given)?.addresses.allSatisfy(\.isLoopback) == false {
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
        guard dialect.accepts(.cipher) else { return [] }
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

    private func ownNames(_ given: Set<String>) -> [Contradiction] {
        let key = names.isEmpty ? namesFile.map { _ in "names-file" } : "names"
        if let key, shadow != nil {
            return [
                ("shadow", "provider.shadow: found with \(key); allowed: without, as a shadow is asked for any name")
            ]
        }
        if viewsOnly, let other = key ?? shadow.map({ _ in "shadow" }) {
            return [("views-only", "provider.views-only: found with \(other); allowed: without")]
        }
        guard key == nil, given.contains("exclusive") else { return [] }
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
