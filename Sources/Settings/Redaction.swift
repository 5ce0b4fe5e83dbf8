// Removes secrets from settings for a report that other people read, and from error messages: accounts and every text
// that may hold a key.

import DNSWire

extension Settings {
    /// The text in place of a removed text.
    package static let removed = "(removed)"

    /// The settings without accounts, values of parameters, users of proxies, unusual paths of URLs, the texts of
    /// templates that form a request, and paths and queries of receivers; also `withoutPastedKeys`. Contents of key
    /// files are never part of settings.
    package var redacted: Settings {
        var settings = withoutPastedKeys
        settings.providers = settings.providers.map(\.redacted)
        settings.receivers = settings.receivers.map(\.redacted)
        settings.rules = settings.rules.map(\.redacted)
        return settings
    }

    /// The settings without the names of credentials, and without paths that may be keys: a secret that was pasted in
    /// place of its file's path looks like such a name.
    package var withoutPastedKeys: Settings {
        var settings = self
        settings.providers = providers.map(\.withoutPastedKeys)
        settings.receivers = receivers.map(\.withoutPastedKeys)
        settings.fleet = fleet.withoutPastedKeys
        return settings
    }

    /// The texts that `redacted` removes, for a search in other texts.
    package var redactedTexts: Set<String> {
        let redacted = redacted
        return Set(zip(providers, redacted.providers).flatMap { $0.texts.subtracting($1.texts) })
            .union(zip(rules, redacted.rules).flatMap { $0.parameters.texts.subtracting($1.parameters.texts) })
            .union(zip(receivers, redacted.receivers).flatMap { $0.texts.subtracting($1.texts) })
            .union(fleet.files.subtracting(redacted.fleet.files))
    }
}

extension Settings.ProviderURL {
    /// Paths of the services that the manual names. Other paths may hold the id of an account, as NextDNS's do.
    fileprivate static let publicPaths: Set<Substring> = [
        "", "/", "/d", "/query", "/resolve", "/v4/resolve", "/dns-query",
    ]

    /// Whether a text in place of a URL can hold no secret: it has neither a user nor a query, and no unusual path. A
    /// word alone may be a key.
    @Sendable static func isPublic(_ text: String) -> Bool {
        let place = text[(text.firstRange(of: "://")?.upperBound ?? text.startIndex)...]
        guard place.startIndex != text.startIndex || text.contains(where: { ".:".contains($0) }) else { return false }
        return !place.contains { "@?#".contains($0) } && publicPaths.contains(place.drop { $0 != "/" })
    }
}

extension Settings.Provider {
    /// Whether a value of `secretFiles` can be no pasted secret: a path with a folder, in its shortest form, no part of
    /// which looks like Base64. A final "/" is a mistake, which messages name. One Base64 key in 64 begins with "/".
    @Sendable package static func isPublic(file: String) -> Bool {
        let path = file.hasSuffix("/") ? file.dropLast() : file[...]
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        return file.hasPrefix("/") && parts.count > 1
            && parts.allSatisfy { !["", ".", ".."].contains($0) && !looksLikeBase64($0) }
    }

    private static func looksLikeBase64(_ part: Substring) -> Bool {
        if part.contains(where: { "+=".contains($0) }) { return true }
        return part.count >= minBase64 && !part.contains { ".-_".contains($0) } && part.contains(where: \.isUppercase)
            && part.contains(where: \.isNumber)
    }

    /// Minimum size of a text that looks like Base64: a shorter rest of a key is of no use.
    private static let minBase64 = 8

    /// Returns a value of `secretFiles` as messages show it.
    package static func shown(file: String) -> String { isPublic(file: file) ? file : "(\(hiddenValue))" }

    /// Returns a message about a path among `secretFiles` as it may be shown.
    package static func shown(_ message: String, about path: String) -> String {
        path.hasPrefix("/") ? message.replacing(path, with: shown(file: path)) : message
    }

    fileprivate var redacted: Settings.Provider {
        var provider = self
        if !Settings.ProviderURL.publicPaths.contains(url.path[...]) {
            provider.url = Settings.ProviderURL(
                isSecure: url.isSecure, host: url.host, port: url.port, path: "/\(Settings.removed)")
        }
        provider.account = account.map { _ in Settings.removed }
        provider.accessKey = accessKey.map { _ in Settings.removed }
        provider.proxy = proxy.map { proxy in
            Proxy(scheme: proxy.scheme, user: proxy.user.map { _ in Settings.removed }, endpoint: proxy.endpoint)
        }
        provider.template = template?.redacted
        provider.parameters = parameters.redacted
        return provider
    }

    fileprivate var withoutPastedKeys: Settings.Provider {
        var provider = self
        for file in [\Settings.Provider.keyFile, \.cipherKeyFile, \.proxyKeyFile]
        where provider[keyPath: file].map(Settings.Provider.isPublic(file:)) == false {
            provider[keyPath: file] = Settings.removed
        }
        return provider
    }

    fileprivate var texts: Set<String> {
        let single = [url.path, account, accessKey, proxy?.user].compactMap(\.self)
        // A credential with the name of its provider or dialect is no secret, and a report needs this word.
        let files = secretFiles.map(\.file).filter { $0 != name && $0 != dialect.rawValue }
        return Set(single + files + (template?.texts ?? [])).union(parameters.texts)
    }
}

extension Settings.Provider.Template {
    fileprivate var redacted: Self {
        var template = self
        template.query = Settings.removed
        template.headers = headers.map { _ in Settings.removed }
        template.signed = signed.map { _ in Settings.removed }
        if !joiner.isEmpty { template.joiner = Settings.removed }
        return template
    }

    fileprivate var texts: [String] { [query, joiner] + headers + signed }
}

extension Settings.Fleet {
    fileprivate var withoutPastedKeys: Self {
        let shown = { (file: String) in Settings.Provider.isPublic(file: file) ? file : Settings.removed }
        var fleet = self
        fleet.keyFiles = keyFiles.map(shown)
        fleet.passwordFile = passwordFile.map(shown)
        return fleet
    }

    fileprivate var files: Set<String> { Set(secretFiles.map(\.file)) }
}

extension Settings.Receiver {
    fileprivate var redacted: Self {
        var receiver = self
        let location = url.location
        let path = location.path == "/" ? "/" : "/\(Settings.removed)"
        receiver.url = Settings.ReceiverURL(
            location: Settings.ProviderURL(
                isSecure: location.isSecure, host: location.host, port: location.port, path: path),
            query: url.query.map { _ in Settings.removed })
        return receiver
    }

    fileprivate var withoutPastedKeys: Self {
        var receiver = self
        if keyFile.map(Settings.Provider.isPublic(file:)) == false { receiver.keyFile = Settings.removed }
        return receiver
    }

    fileprivate var texts: Set<String> {
        Set([url.location.path, url.query].compactMap(\.self) + secretFiles.map(\.file))
    }
}

extension Settings.Rule {
    fileprivate var redacted: Self {
        var rule = self
        rule.parameters = parameters.redacted
        return rule
    }
}

extension Settings.RequestParameters {
    fileprivate var redacted: Self {
        var parameters = self
        parameters.query = query.mapValues { _ in Settings.removed }
        parameters.tags = tags.map { _ in Settings.removed }
        parameters.appID = appID.map { _ in Settings.removed }
        return parameters
    }

    fileprivate var texts: Set<String> { Set(Array(query.values) + tags + [appID].compactMap(\.self)) }
}

extension TOMLNode {
    /// Describes the value in the file in a few words.
    var found: String {
        switch value {
        case .boolean(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let text) where text.contains("://") && !Settings.ProviderURL.isPublic(text): hiddenValue
        case .string(let text): quoted(withoutPassword(text))
        case .dateOrTime: "a date or time"
        case .array: "an array"
        case .table: "a table"
        }
    }
}

/// Removes the password of a URL, which error messages about other keys may still show.
private func withoutPassword(_ text: String) -> String {
    guard let end = text.lastIndex(of: "@") else { return text }
    let user = text[..<end].firstRange(of: "://")?.upperBound ?? text.startIndex
    return text[user..<end].firstIndex(of: ":").map { text[...$0] + "..." + text[end...] } ?? text
}
