// A [[provider]] as it stands in the file, key by key, and the step to a provider, which judges the keys together.

import DNSWire

struct ProviderDraft {
    var name: String?
    var dialect: Settings.Provider.Dialect?
    var url: Settings.ProviderURL?
    var addresses: [Address] = []
    var sni: String?
    var verifyName: String?
    var host: String?
    var caFile: String?
    var account: String?
    var keyFile: String?
    var method: Settings.Provider.Method?
    var budgetPerSecond = 100
}

extension ProviderDraft {
    /// For writing.
    init(_ provider: Settings.Provider) {
        self.init(
            name: provider.name, dialect: provider.dialect, url: provider.url, addresses: provider.addresses,
            sni: provider.sni, verifyName: provider.verifyName, host: provider.host, caFile: provider.caFile,
            account: provider.account, keyFile: provider.keyFile,
            method: provider.dialect == .doh ? provider.method : nil, budgetPerSecond: provider.budgetPerSecond)
    }

    /// What is missing or contradicts itself, with the key that it is about; none if `provider` gives one.
    var contradictions: [(key: String?, text: String)] {
        var list: [(key: String?, text: String)] = []
        for (key, isMissing) in [("name", name == nil), ("dialect", dialect == nil), ("url", url == nil)]
        where isMissing {
            list.append((nil, "this [[provider]] has no \(key); every provider needs name, dialect and url"))
        }
        if let url, case .name(let host) = url.host, addresses.isEmpty {
            list.append(
                (
                    "url",
                    "provider.url: found the host name \(quoted(host)) and no addresses; nothing is resolved "
                        + "through ourselves: add addresses = [\"...\"] with what is to be dialled"
                ))
        }
        list += dialect.map(contradictions(with:)) ?? []
        if let url, !url.isSecure {
            for (key, isSet) in [("sni", sni != nil), ("verify-name", verifyName != nil), ("ca-file", caFile != nil)]
            where isSet {
                list.append((key, "provider.\(key): found with an http URL; allowed: with https"))
            }
        }
        return list
    }

    private func contradictions(with dialect: Settings.Provider.Dialect) -> [(key: String?, text: String)] {
        let keys: [(key: String, isSet: Bool, dialects: [Settings.Provider.Dialect])] = [
            ("account", account != nil, [.dnspod, .dnspodHTTPS]), ("key-file", keyFile != nil, [.dnspodHTTPS]),
            ("method", method != nil, [.doh]),
        ]
        var list: [(key: String?, text: String)] = []
        for (key, isSet, dialects) in keys where isSet && !dialects.contains(dialect) {
            let allowed = dialects.map { quoted($0.rawValue) }.joined(separator: ", ")
            list.append(
                (key, "provider.\(key): found with dialect \(quoted(dialect.rawValue)); allowed: with \(allowed)"))
        }
        if dialect == .dnspodHTTPS, keyFile == nil {
            list.append((nil, "this [[provider]] has no key-file; its dialect needs one with the account's token"))
        }
        return list
    }

    /// Nil if a key is missing.
    var provider: Settings.Provider? {
        guard let name, let dialect, let url else { return nil }
        var dialled = addresses
        if case .address(let address) = url.host, addresses.isEmpty { dialled = [address] }
        guard !dialled.isEmpty else { return nil }
        return Settings.Provider(
            name: name, dialect: dialect, url: url, addresses: dialled, sni: sni, verifyName: verifyName, host: host,
            caFile: caFile, account: account, keyFile: keyFile, method: method ?? .get,
            budgetPerSecond: budgetPerSecond)
    }
}
