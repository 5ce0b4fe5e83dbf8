// The daemon's settings as the doctor reads them, with complaints about errors. If the file is unusable, the built-in
// settings stand in, so that the other checks can run.

import DNSWire
import LinuxIO
import Resolver
import Settings

struct ExaminedSettings {
    static let standardPath = "/etc/httpdnsd/httpdnsd.toml"
    /// Bound on the settings file, the same as the daemon's.
    private static let maxBytes = 1 << 20

    let path: String
    let settings: Settings
    let complaints: [LocalizedText]
    let isThere: Bool

    /// - Parameter path: nil: the default path, where the file may be missing.
    init(_ path: String?) {
        self.path = path ?? ExaminedSettings.standardPath
        do throws(SystemError) {
            let bytes = try TextFile.read(self.path, maxBytes: ExaminedSettings.maxBytes)
            isThere = true
            do throws(SettingsError) {
                settings = try Settings.parse(bytes: bytes, file: self.path)
                complaints = []
            } catch {
                settings = .defaults
                complaints = error.lines.map(LocalizedText.init(verbatim:))
            }
        } catch {
            settings = .defaults
            isThere = !error.isNoSuchFile
            complaints = path == nil && error.isNoSuchFile ? [] : ["\(self.path): can't be read: \(error)"]
        }
    }

    /// The settings without providers, nameservers and probes if the file has faults: the built-in ones are not those
    /// of the daemon.
    var usable: Settings {
        guard !complaints.isEmpty else { return settings }
        var usable = settings
        (usable.providers, usable.nameservers, usable.probe.enabled) = ([], [], false)
        return usable
    }

    /// Whether programs of this machine may query at loopback addresses.
    var allowsLoopback: Bool {
        settings.server.listen.addresses.filter { $0.isWildcard || $0.address.isLoopback }.allSatisfy { listener in
            let client = listener.isIPv6 ? Address.v6(high: 0, low: 1) : .v4(0x7F00_0001)
            return settings.server.allow.contains { $0.contains(client) }
        }
    }

    var check: SettingsCheck { SettingsCheck(complaints: complaints, path: path) }

    /// The files and directories that the daemon must be able to read or write.
    var places: [FileCheck.Place] {
        var places = [MachineFiles.place(path, .read)]
        // The files of the built-in settings are not the daemon's.
        guard complaints.isEmpty else { return places.compactMap { $0 } }
        places += filesWithNames
        for provider in settings.providers {
            // Other values are names of credentials, which the service manager provides.
            for (key, file) in provider.secretFiles where file.hasPrefix("/") {
                places.append(MachineFiles.place(file, .secret("\(key) of \(provider.name)")))
            }
        }
        for receiver in settings.receivers {
            for (key, file) in receiver.secretFiles where file.hasPrefix("/") {
                places.append(MachineFiles.place(file, .secret("\(key) of \(receiver.url.origin)")))
            }
        }
        let store = settings.cache.store
        if let store, let slash = store.lastIndex(of: "/") {
            let directory = slash == store.startIndex ? "/" : String(store[..<slash])
            places.append(MachineFiles.place(directory, .make("cache.store")))
            places.append(MachineFiles.place(store, .write("cache.store")))
        }
        if let directory = settings.log.usedRecorderDirectory, store?.hasPrefix(directory + "/") != true {
            places.append(MachineFiles.place(directory, .make("log.recorder-directory")))
        }
        return places.compactMap { $0 }
    }

    private var filesWithNames: [FileCheck.Place?] {
        let place = { (path: String, key: LocalizedText, mayBeMissing: Bool) in
            MachineFiles.place(path, .names(key, mayBeMissing: mayBeMissing))
        }
        var places = [place("/etc/hosts", "hosts file", true)]
        places += Set(settings.rules.flatMap(\.matchFiles)).sorted().map { place($0, "match-file", false) }
        places += settings.providers.compactMap { provider in
            provider.namesFile.map { place($0, "names-file of \(provider.name)", false) }
        }
        places += settings.leaseFiles.map { place($0, "lease-files", true) }
        if let directory = settings.hostsDirectory {
            places.append(place(directory, "hosts-directory", true))
            places += MachineFiles.files(in: directory).map { place($0, "hosts-directory", true) }
        }
        return places
    }

    /// Nameserver sources of the system resolver, chosen by the daemon's own rules.
    ///
    /// - Parameter told: the sources that the running daemon asks, which count if the file has faults.
    func sources(_ told: [String]?, without ourselves: ListenAddresses) -> NameserverSources {
        let system = settings.systemResolver
        let servers = complaints.isEmpty ? system.servers : (told ?? []).compactMap { SocketAddress(withZone: $0) }
        return NameserverSources(
            configured: servers.map { Nameserver($0.address, port: $0.port) }, resolvConf: system.resolvConf,
            contents: MachineFiles.nameserverFiles(system.resolvConf), without: ourselves)
    }
}
