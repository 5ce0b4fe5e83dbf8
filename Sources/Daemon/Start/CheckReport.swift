// Output of `--check` for settings without errors.

import Control
import Settings

struct CheckReport {
    var text: String
    /// At first one line for each provider that sends readable names.
    var warnings: [String]

    /// - Parameter file: nil if the settings are the built-in defaults.
    init(_ settings: Settings, file: String?) {
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
    }
}
