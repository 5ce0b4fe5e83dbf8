// The daemon's settings as the doctor reads them, with complaints about errors. If the file is unusable, the built-in
// settings stand in, so that the other checks can run.

import DNSWire
import LinuxIO
import Resolver
import Settings

struct ExaminedSettings {
    static let standardPath = "/etc/httpdnsd/httpdnsd.toml"
    /// The same limit as the daemon's.
    private static let maxBytes = 1 << 20

    let path: String
    let settings: Settings
    let complaints: [String]
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
                complaints = error.description.split(separator: "\n").map(String.init)
            }
        } catch {
            settings = .defaults
            isThere = !error.isNoSuchFile
            complaints = path == nil && error.isNoSuchFile ? [] : ["\(self.path): can't be read: \(error)"]
        }
    }

    var check: SettingsCheck { SettingsCheck(complaints: complaints, path: path) }

    /// The files and directories that the daemon must be able to read or write.
    var places: [FileCheck.Place] {
        var places = [MachineFiles.place(path, .read)]
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

    /// Nameserver sources of the system resolver, chosen by the daemon's own rules.
    func sources(without ourselves: ListenAddresses) -> NameserverSources {
        let system = settings.systemResolver
        return NameserverSources(
            configured: system.servers.map { Nameserver($0.address, port: $0.port) }, resolvConf: system.resolvConf,
            contents: MachineFiles.nameserverFiles(system.resolvConf), without: ourselves)
    }
}
