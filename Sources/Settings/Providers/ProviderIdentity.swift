// The properties that the providers of two machines share if they give the same answers in the same way, for a fleet.

import DNSWire

extension Settings.Provider {
    /// Dialect, URL and account. A vendor limits and counts the questions of an account together, whatever key signs
    /// them.
    package var accountIdentity: String { "\(dialect.rawValue) \(url) \(account ?? "")" }

    /// All settings that decide the provider's answers or the way to it. Settings that are listed here do neither, or
    /// are compared by themselves: the parameters of a name, the client subnet, and the contents of `ca-file`. A new
    /// setting counts.
    package var identity: String {
        var common = endpoint
        common.name = ""
        common.addresses.sort { "\($0)" < "\($1)" }
        (common.parameters, common.parametersOfNames) = (Settings.RequestParameters(), [:])
        (common.clientSubnet, common.caFile) = (nil, nil)
        (common.accessKey, common.keyFile, common.cipherKeyFile, common.proxyKeyFile) = (nil, nil, nil, nil)
        common.whenUsedUp = .next
        (common.budgetPerSecond, common.shadow, common.connectionRequests) = (nil, nil, nil)
        (common.timeout, common.idle) = (.seconds(3), .seconds(10))
        return common.section
    }
}
