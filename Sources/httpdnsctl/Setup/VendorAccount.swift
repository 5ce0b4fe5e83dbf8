// The vendors' services that need an account: what `setup` asks for each, and where it is reached.

import DNSWire
import Settings

struct VendorAccount: Equatable, Sendable {
    /// The service's name as `--account` takes it.
    let name: String
    let dialect: Settings.Provider.Dialect
    /// The company that sees the names.
    let company: String
    let product: String
    /// The URL as the vendor publishes it.
    let url: String

    /// All services, in the order of the dialogue.
    static let all = Settings.Provider.Dialect.rows.compactMap { dialect, facts in
        facts.service.map { service in
            VendorAccount(
                name: service.name ?? dialect.rawValue, dialect: dialect, company: service.company,
                product: service.product, url: service.url)
        }
    }

    /// Whether the service cannot be asked without the key.
    func needs(_ key: Settings.Provider.Dialect.Key) -> Bool {
        let facts = dialect.facts
        return facts.needs.contains(key) || facts.takesWholeAccount && facts.takes.contains(key)
    }

    /// The public provider of the same service; nil: none.
    private var publicProvider: Settings.Provider? { Settings.Provider.builtIn.first { $0.name == name } }

    /// The addresses of the service; empty if the URL has an address, or if the vendor publishes none.
    var addresses: [Address] { publicProvider?.addresses ?? [] }

    /// The name of the account's provider, which differs from the names of the public providers.
    var providerName: String { publicProvider == nil ? name : "\(name)-account" }
}
