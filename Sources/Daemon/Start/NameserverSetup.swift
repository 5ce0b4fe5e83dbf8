// The operator's nameservers with their certificate authorities, read with the settings, so that errors in a file are
// reported then.

import Crypto
import Settings

struct NameserverSetup {
    let nameservers: [Settings.Nameserver]
    /// For servers with DNS over TLS, by `caFile`.
    let contexts: [String?: TLSContext]

    static var none: NameserverSetup { NameserverSetup(nameservers: [], contexts: [:]) }

    private init(nameservers: [Settings.Nameserver], contexts: [String?: TLSContext]) {
        (self.nameservers, self.contexts) = (nameservers, contexts)
    }

    /// Reports all errors together.
    init(_ nameservers: [Settings.Nameserver], _ options: Options) throws(SettingsFile.Unusable) {
        var contexts: [String?: TLSContext] = [:]
        var complaints: [String] = []
        for nameserver in nameservers
        where contexts[nameserver.caFile] == nil && nameserver.servers.contains(where: { $0.transport != .plain }) {
            do throws(CryptoError) {
                contexts[nameserver.caFile] = try TLSContext(
                    caFile: nameserver.caFile, protocols: [], for: .requests)
            } catch {
                complaints.append(
                    "\(SettingsFile.path(options)): nameserver.ca-file of \"\(nameserver.name)\": found a file that "
                        + "can't be used (\(error.text)); allowed: a readable file with certificates in PEM, or "
                        + "\"\" for the system's")
            }
        }
        guard complaints.isEmpty else { throw SettingsFile.Unusable(complaints: complaints) }
        self.init(nameservers: nameservers, contexts: contexts)
    }
}
