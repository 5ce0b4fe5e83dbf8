// Output of `--check` for settings without errors.

import Control
import DNSWire
import HTTPDNS
import Settings
import Upstreams

struct CheckReport {
    var text: String
    /// The warnings; at first one line for each provider that sends readable names.
    var warnings: [String]

    /// - Parameters:
    ///   - accounts: the accounts of the settings' providers.
    ///   - file: nil if the settings are the built-in defaults.
    init(_ settings: Settings, _ accounts: [ProviderAccount] = [], file: String?) {
        guard let file else {
            (text, warnings) = ("no file: built-in defaults\n", [])
            return
        }
        let asked = settings.askedProviders
        let providers = asked.isEmpty ? "no provider is asked" : counted(asked.count, "provider", "providers")
        text = "\(file): valid: \(providers), \(counted(settings.rules.count, "rule", "rules"))\n"
        warnings = asked.filter(\.exposesNames).map { provider in
            "\(file): warning: provider \"\(provider.name)\" has an http URL: everyone on the path can read the names "
                + "and change the answers; use https if the provider offers it"
        }
        warnings += CheckReport.filterWarnings(asked, settings.systemResolver).map {
            "\(file): warning: \($0)"
        }
        if !settings.probe.enabled, settings.rules.contains(where: { $0.terms.preferAddresses != nil }) {
            warnings.append(
                "\(file): warning: rule.prefer-addresses has no effect with probe.enabled = false, as only verified "
                    + "addresses are given")
        }
        let served = accounts.filter { account in asked.contains { $0.name == account.settings.name } }
        let filters = served.filter(\.settings.filters)
        for family in [RecordType.a, .aaaa]
        where !filters.isEmpty && !filters.contains(where: { $0.dialect.supports(family) }) {
            warnings.append(
                "\(file): warning: no provider with filters = true serves \(family) queries: others resolve blocked "
                    + "names by this family")
        }
        let unserved = [RecordType.a, .aaaa].filter { type in !served.contains { $0.dialect.supports(type) } }
        guard unserved.count == 1, let family = unserved.first else { return }
        warnings.append(
            "\(file): warning: no provider serves \(family) queries: the system resolver answers them, or they get no "
                + "data if there is none; add a provider for them")
    }

    /// Warnings about ways around a provider that blocks names.
    private static func filterWarnings(
        _ providers: [Settings.Provider], _ system: Settings.SystemResolver
    ) -> [String] {
        let general = providers.filter { !$0.hasOwnNames && !$0.viewsOnly && $0.shadow == nil }
        let filters = general.filter(\.filters).map(\.name)
        let others = general.filter { !$0.filters }
        var warnings = others.filter(\.isKnownFilter).map {
            "provider \"\($0.name)\" is known to block names: write filters = true, or other sources may overrule it"
        }
        guard !filters.isEmpty else { return warnings }
        if !others.isEmpty {
            let names = { (names: [String]) in names.map { "\"\($0)\"" }.joined(separator: ", ") }
            warnings.append(
                "filters = true for \(names(filters)) and not for \(names(others.map(\.name))): the others are asked "
                    + "only if no filter can be reached, and then nothing is blocked; remove them, or use a [[view]]")
        }
        if system.standsIn == .anyFailure {
            warnings.append(
                "system-resolver.stands-in = \"any-failure\": nameservers that block nothing answer for a name "
                    + "on which \(filters[0]) fails")
        }
        for filter in general where filter.filters && filter.whenUsedUp == .system {
            warnings.append(
                "when-used-up = \"system\" of \"\(filter.name)\": while its budget or quota is used up, "
                    + "nameservers that block nothing answer")
        }
        if system.order == .systemFirst {
            warnings.append(
                "system-resolver.order = \"system-first\" asks nameservers that block nothing before \(filters[0])")
        }
        return warnings
    }
}

extension Settings.Provider {
    /// The provider is a public one that setup offers for the names that it blocks.
    fileprivate var isKnownFilter: Bool { Preset.all.contains { $0.blocks && url.host == .name($0.host) } }
}
