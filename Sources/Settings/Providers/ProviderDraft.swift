// A [[provider]] as written in the file, before its keys are checked together.

import DNSWire

struct ProviderDraft: TableDraft {
    var name: String?
    var dialect: Settings.Provider.Dialect?
    var url: Settings.ProviderURL?
    var addresses: [Address] = []
    var sni: String?
    var verifyName: String?
    var host: String?
    var caFile: String?
    var account: String?
    var accessKey: String?
    var keyFile: String?
    var cipher: Settings.Provider.CipherMode?
    var cipherKeyFile: String?
    var expiring: Bool?
    var region: String?
    var serviceNodes: Bool?
    var parameters = Settings.RequestParameters()
    var clientSubnet: Settings.Provider.ClientSubnet?
    var clientSubnetForm: Settings.Provider.ClientSubnetForm?
    var proxy: Settings.Provider.Proxy?
    var proxyKeyFile: String?
    var method: Settings.Provider.Method?
    var trustAD: Bool?
    var budgetPerSecond: Int?
    var shadow: Double?
    var names: [QuestionScope] = []
    var namesFile: String?
    var exclusive: Bool?
    var viewsOnly: Bool?
    var quota: Settings.Provider.Quota?
    var whenUsedUp: Settings.Provider.WhenUsedUp?
    var hedge: Bool?
    var timeout = Duration.seconds(3)
    var idle = Duration.seconds(10)
    var connectionRequests: Int?
    /// The template, a subtable that follows the other keys.
    var template: Settings.Provider.Template?
}

extension ProviderDraft {
    /// Creates the draft for writing: omits keys that the dialect does not use.
    init(_ provider: Settings.Provider) {
        let dialect = provider.dialect
        self.init(
            name: provider.name, dialect: dialect, url: provider.url, addresses: provider.addresses,
            sni: provider.sni, verifyName: provider.verifyName, host: provider.host, caFile: provider.caFile,
            account: provider.account, accessKey: provider.accessKey, keyFile: provider.keyFile,
            cipher: provider.cipher, cipherKeyFile: provider.cipherKeyFile,
            expiring: dialect.accepts(.expiring) ? provider.expiring : nil, region: provider.region,
            serviceNodes: dialect.accepts(.serviceNodes) ? provider.serviceNodes : nil, parameters: provider.parameters,
            clientSubnet: provider.clientSubnet,
            clientSubnetForm: dialect.accepts(.clientSubnetForm) ? provider.clientSubnetForm : nil,
            proxy: provider.proxy, proxyKeyFile: provider.proxyKeyFile,
            method: dialect.accepts(.method) ? provider.method : nil, trustAD: provider.trustAD ? true : nil,
            budgetPerSecond: provider.budgetPerSecond,
            shadow: provider.shadow, names: provider.names, namesFile: provider.namesFile,
            exclusive: provider.exclusive ? true : nil, viewsOnly: provider.viewsOnly ? true : nil,
            quota: provider.quota, whenUsedUp: provider.whenUsedUp == .next ? nil : provider.whenUsedUp,
            hedge: provider.hedge,
            timeout: provider.timeout, idle: provider.idle, connectionRequests: provider.connectionRequests,
            template: provider.template)
    }

    /// The provider; nil if a required key is missing.
    var provider: Settings.Provider? {
        guard let name, let dialect, let url else { return nil }
        var dialled = addresses
        if case .address(let address) = url.host, addresses.isEmpty { dialled = [address] }
        guard !dialled.isEmpty || url.isSecure else { return nil }
        let usesNodes = dialect.accepts(.serviceNodes) && dialect.facts.usesNodes
        return Settings.Provider(
            name: name, dialect: dialect, url: url, addresses: dialled, sni: sni, verifyName: verifyName, host: host,
            caFile: caFile, account: account, accessKey: accessKey, keyFile: keyFile,
            cipher: cipher ?? (cipherKeyFile == nil ? nil : .gcm), cipherKeyFile: cipherKeyFile,
            expiring: expiring ?? false, region: region, serviceNodes: serviceNodes ?? usesNodes,
            template: template, parameters: parameters,
            clientSubnet: clientSubnet, clientSubnetForm: clientSubnetForm ?? .clear, proxy: proxy,
            proxyKeyFile: proxyKeyFile, method: method ?? .get, trustAD: trustAD ?? false,
            budgetPerSecond: budgetPerSecond, whenUsedUp: whenUsedUp ?? .next, shadow: shadow, names: names,
            namesFile: namesFile, exclusive: exclusive ?? false, viewsOnly: viewsOnly ?? false, quota: quota,
            hedge: hedge, timeout: timeout, idle: idle, connectionRequests: connectionRequests)
    }
}
