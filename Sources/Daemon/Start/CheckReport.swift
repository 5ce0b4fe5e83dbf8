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
        let served = accounts.filter { account in asked.contains { $0.name == account.settings.name } }
        let unserved = [RecordType.a, .aaaa].filter { type in !served.contains { $0.dialect.supports(type) } }
        guard unserved.count == 1, let family = unserved.first else { return }
        warnings.append(
            "\(file): warning: no provider serves \(family) queries: the system resolver answers them, or they get no "
                + "data if there is none; add a provider for them")
    }
}
