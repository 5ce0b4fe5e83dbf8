// All that has to be read and made before settings can be in force: keys, templates, authorities. Complete or not
// there.

import Crypto
import LinuxIO
import Settings

struct Provisions {
    let accounts: [ProviderAccount]
    let probes: ProbeSetup

    /// Says everything that is wrong at once.
    ///
    /// - Parameter bound: nil: nothing yet, but what the settings say will be.
    init(for settings: Settings, _ options: Options, bound: PortBinding? = nil) throws(SettingsFile.Unusable) {
        let wanted = options.listen.isEmpty ? settings.server.listen.map(SocketAddress.init) : options.listen
        var listen = bound?.addresses ?? []
        if bound?.areHandedOver != true { listen = wanted + listen.filter { !wanted.contains($0) } }
        var complaints = [Exposure.complaint(listen: listen, allow: settings.server.allow)].compactMap { $0 }
            .map { "\(SettingsFile.path(options)): \($0)" }
        var accounts: [ProviderAccount] = []
        var probes = ProbeSetup.off
        do throws(SettingsFile.Unusable) {
            accounts = try ProviderAccount.all(in: settings, options)
        } catch {
            complaints += error.complaints
        }
        do throws(CryptoError) {
            probes = try ProbeSetup(settings.probe)
        } catch {
            complaints.append(
                "\(SettingsFile.path(options)): probe.ca-file: found a file that can't be used (\(error.text)); "
                    + "allowed: a readable file with certificates in PEM, or \"\" for the system's")
        }
        guard complaints.isEmpty else { throw SettingsFile.Unusable(complaints: complaints) }
        self.accounts = accounts
        self.probes = probes
    }
}
