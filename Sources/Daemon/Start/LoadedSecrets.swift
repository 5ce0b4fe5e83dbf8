// Keys, templates, certificate authorities and lists of names that settings need before they take effect. The
// initializer succeeds completely or throws.

import Crypto
import DNSWire
import LinuxIO
import Settings
import Upstreams

struct LoadedSecrets {
    let accounts: [ProviderAccount]
    let receivers: [ReceiverAccount]
    let probes: ProbeSetup
    let nameservers: NameserverSetup
    /// The keys and password for sharing answers; nil: nothing is shared.
    let fleet: FleetSetup?
    /// The names in files, until `takeNames` takes them.
    private(set) var names: NamesInFiles

    /// Reports all errors together.
    ///
    /// - Parameters:
    ///   - bound: nil before ports are bound; the addresses of the settings count then.
    ///   - read: the contents of the files with names; nil: the files are read here, before a start, which takes a
    ///     second for
    ///     a million names. A fault in one of these files prevents no start.
    init(
        for settings: Settings, _ options: Options, bound: PortBinding? = nil, names read: NamesInFiles? = nil
    ) throws(UnusableSettings) {
        let handedOver = bound.flatMap { $0.areHandedOver ? $0.addresses : nil }
        let configured = options.listenPlaces(settings).addresses
        // Addresses that the settings no longer have are bound until the restart.
        let listen = handedOver ?? configured + (bound?.addresses ?? []).filter { !configured.contains($0) }
        let place = handedOver != nil ? "httpdnsd.socket" : options.listen.isEmpty ? "server.listen" : "--listen"
        var complaints = [
            OpenResolverCheck.complaint(handedOver ?? configured, of: place, allow: settings.server.allow)
        ].compactMap { $0 }.map { "\(SettingsFile.path(options)): \($0)" }
        var accounts: [ProviderAccount] = []
        var receivers: [ReceiverAccount] = []
        var probes = ProbeSetup.off
        var nameservers = NameserverSetup.none
        var fleet: FleetSetup?
        var names = read ?? NameLists.read(for: settings, LastGoodFiles(settings))
        do throws(UnusableSettings) {
            accounts = try ProviderAccount.all(
                in: settings, settingsFile: SettingsFile.path(options), names.accounts, unused: &names.accountFaults)
        } catch {
            complaints += error.complaints
        }
        do throws(UnusableSettings) {
            receivers = try ReceiverAccount.all(in: settings, options)
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
        do throws(UnusableSettings) {
            nameservers = try NameserverSetup(
                settings.nameservers, settingsFile: SettingsFile.path(options), listen: listen)
        } catch {
            complaints += error.complaints
        }
        do throws(UnusableSettings) {
            fleet = try FleetSetup.read(settings.fleet, settingsFile: SettingsFile.path(options))
        } catch {
            complaints += error.complaints
        }
        guard complaints.isEmpty else { throw UnusableSettings(complaints: complaints) }
        self.fleet = fleet
        self.accounts = accounts
        self.receivers = receivers
        self.probes = probes
        self.nameservers = nameservers
        self.names = names
    }

    /// Returns the names in files. They are large, and replaced when the files change.
    mutating func takeNames() -> NamesInFiles { exchange(&names, with: NamesInFiles()) }
}
