// The settings file that `httpdnsctl setup` writes: the answers with comments. Keys with their defaults are left out.

import Control
import DNSWire
import Settings

extension SetupAnswers {
    /// - Parameters:
    ///   - path: where the file will be.
    ///   - former: the former settings, whose kept parts are added.
    /// - Throws: complaints of the settings' parser, if the answers do not fit together.
    func settingsFile(
        at path: String = ExaminedSettings.standardPath, replacing former: FormerSettings = .none
    ) throws(SetupRefusal) -> FormerSettings.Result {
        // The path stands in a comment.
        try SetupAnswers.requirePlain(path)
        func section(_ parts: String...) -> String { parts.filter { !$0.isEmpty }.joined(separator: "\n") }
        let new = FormerSettings.NewFile(
            top: section(header(at: path), onlySystem), server: server, tables: section(publicTables, accountTable))
        do throws(SettingsError) {
            _ = try Settings.parse(bytes: Array(FormerSettings.none.added(to: new).text.utf8), file: "settings")
            return former.added(to: new)
        } catch {
            throw SetupRefusal(LocalizedText(verbatim: error.complaints.map(\.text).joined(separator: "\n")))
        }
    }

    private func header(at path: String) -> String {
        let words = command(at: path).map { $0.joined(separator: " ") }
        let check = (["httpdnsd", "--check"] + SetupAnswers.flag("--config", path)).joined(separator: " ")
        return """
            #:schema file:///usr/share/httpdnsd/httpdnsd.schema.json
            # Settings of httpdnsd, written by "httpdnsctl setup". This command writes the same file:
            \(SetupLines.wrapped(words, first: "#  ", other: "#      ", end: " \\"))
            # All keys and their defaults: man httpdnsd.toml
            # Check a changed file: \(check)
            # Have the daemon read it: httpdnsctl reload

            """
    }

    /// The setting `only-listed` for a file without providers, which would otherwise have the built-in ones.
    private var onlySystem: String {
        guard providers?.isEmpty != false, service == nil else { return "" }
        return """
            # No provider is asked. The nameservers of the network resolve all names.
            only-listed = true

            """
    }

    private var server: String {
        let listen = Settings.defaults.server.listen.addresses + (lan ?? []).map(\.listen)
        let allow = (Settings.defaults.server.allow + networks).withoutRepetition
        let clients = networks.isEmpty ? "This machine only" : "This machine and its network"
        return """
            [server]
            # \(clients). Changes of these two keys need a restart.
            listen = \(SetupAnswers.array(listen))
            allow = \(SetupAnswers.array(allow))

            """
    }

    private var publicTables: String {
        guard let providers, !providers.isEmpty else { return "" }
        let comment = """
            # Public providers, without an account. Each sees the names that it is asked for. They are
            # ranked by measurements; their order means nothing.

            """
        return comment + providers.map(SetupAnswers.table).joined(separator: "\n")
    }

    private static func table(_ chosen: ChosenProvider) -> String {
        let provider = chosen.provider
        var addresses = "addresses = \(array(provider.addresses))\n"
        if case .address(let host) = provider.url.host, provider.addresses == [host] { addresses = "" }
        if provider.filters { addresses += "filters = true\n" }
        return """
            # \(chosen.description.english)
            [[provider]]
            name = \(tomlString(provider.name))
            dialect = \(tomlString(provider.dialect.rawValue))
            url = \(tomlString(provider.url.description))
            \(addresses)
            """
    }

    private var accountTable: String {
        guard let service else { return "" }
        var keys = [
            ("name", tomlString(service.providerName)), ("dialect", tomlString(service.dialect.rawValue)),
            ("url", tomlString(providerURL)),
        ]
        if !writtenAddresses.isEmpty { keys.append(("addresses", SetupAnswers.array(writtenAddresses))) }
        for (key, value) in [("account", accountID), ("access-key", accessKey), ("key-file", keyFile)] {
            if let value { keys.append((key, tomlString(value))) }
        }
        let comment = """
            # \(service.company): \(service.product). It sees the names that it is asked for.
            # Further keys of this dialect: man httpdnsd-providers
            [[provider]]

            """
        return comment + keys.map { "\($0) = \($1)\n" }.joined()
    }

    private static func array(_ values: [some CustomStringConvertible]) -> String {
        "[\(values.map { tomlString($0.description) }.joined(separator: ", "))]"
    }

    /// The command line that gives these answers; each flag stands with its value.
    func command(at path: String) -> [[String]] {
        let given: [(Answer, String?)] = [
            (.providers, providers.map { $0.isEmpty ? "none" : $0.map(\.word).joined(separator: ",") }),
            (.providerAddresses, givenAddresses.isEmpty ? nil : givenAddresses.joined(separator: ",")),
            (.account, account.map { _ in service?.name ?? "no" }), (.accountID, accountID), (.accessKey, accessKey),
            (.url, url?.description), (.addresses, addresses.map(SetupAnswers.list)), (.keyFile, shownKeyFile),
            (.lan, lan.map { $0.isEmpty ? "no" : $0.map(\.shortText).joined(separator: ",") }),
            (.allow, allow.map(SetupAnswers.list)), (.takeOver, takesOver == true ? "yes" : "no"),
        ]
        return [["httpdnsctl", "setup"], ["--replace"], SetupAnswers.flag("--output", path)].filter { !$0.isEmpty }
            + given.compactMap { answer, value in value.map { [answer.rawValue, shellWord($0)] } }
    }

    /// The addresses that are in no table, as `--provider-addresses` takes them.
    private var givenAddresses: [String] {
        (providers ?? []).filter(\.hasGivenAddresses).flatMap { chosen in
            chosen.provider.addresses.map { "\(chosen.host)=\($0)" }
        }.withoutRepetition
    }

    /// The flag that names a settings file; none for the default path.
    private static func flag(_ name: String, _ path: String) -> [String] {
        path == ExaminedSettings.standardPath ? [] : [name, shellWord(path)]
    }

    private static func list(_ values: [some CustomStringConvertible]) -> String {
        values.map(\.description).joined(separator: ",")
    }
}

extension SetupAnswers.LANListener {
    /// The listener's address, with the port only if it is not 53.
    var shortText: String { listen.port == 53 ? "\(listen.address)" : "\(listen)" }
}
