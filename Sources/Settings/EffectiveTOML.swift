// Writes the settings in force as a settings file that parses to the same values.

extension Settings {
    /// The sections in the order of the written file.
    static let sectionNames = [
        "server", "provider", "system-resolver", "cache", "prefetch", "stale", "probe", "network", "fleet", "control",
        "log", "notify", "nameserver", "view", "rule",
    ]

    package var effectiveTOML: String {
        var parts = [Settings.lines(Settings.keys, self), Settings.section("[server]", Server.keys, server)]
        parts += providers.map(\.section)
        parts += [
            Settings.section("[system-resolver]", SystemResolver.keys, systemResolver),
            Settings.section("[cache]", Cache.keys, cache),
            Settings.section("[prefetch]", Prefetch.keys, prefetch),
            Settings.section("[stale]", Stale.keys, stale),
            Settings.section("[probe]", Probe.keys, probe),
            Settings.section("[network]", Network.keys, network),
        ]
        if !fleet.servers.isEmpty { parts.append(Settings.section("[fleet]", Fleet.keys, fleet)) }
        parts += [
            Settings.section("[control]", Control.keys, control),
            Settings.section("[log]", Log.keys, log),
        ]
        parts += receivers.map { Settings.section("[[notify]]", ReceiverDraft.keys, ReceiverDraft($0)) }
        parts += nameservers.map { Settings.section("[[nameserver]]", NameserverDraft.keys, NameserverDraft($0)) }
        parts += views.map { Settings.section("[[view]]", ViewDraft.keys, ViewDraft($0)) }
        parts += rules.map { Settings.section("[[rule]]", Rule.keys, $0) }
        return parts.joined(separator: "\n")
    }

    fileprivate static func section<Section>(_ header: String, _ keys: [Key<Section>], _ values: Section) -> String {
        "\(header)\n" + lines(keys, values)
    }

    private static func lines<Section>(_ keys: [Key<Section>], _ values: Section) -> String {
        keys.compactMap { key in key.write(values).map { "\(key.name) = \($0)\n" } }.joined()
    }
}

extension Settings.Provider {
    /// The provider's tables in the written file.
    var section: String {
        var parts = [Settings.section("[[provider]]", ProviderDraft.keys, ProviderDraft(self))]
        if let template { parts.append(Settings.section("[provider.template]", Template.keys, template)) }
        return parts.joined(separator: "\n")
    }
}
