// A member's keys and password for sharing answers. They are read with the settings, so that errors in a file are
// reported then.

import Crypto
import DNSWire
import Fleet
import LinuxIO
import Redis
package import Settings

package struct FleetSetup: Equatable {
    let settings: Settings.Fleet
    let keys: FleetKeys
    let password: Secret?
    /// The name of this machine, for `explain` on other members.
    let member: String

    /// Fingerprint of the settings that members should have in common: 8 hexadecimal digits.
    package static func fingerprint(of settings: Settings) -> String? {
        let digest = try? Digest.sha256(Array(settings.commonInFleet.utf8)).prefix(4)
        return digest?.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    var terms: FleetConfiguration {
        FleetConfiguration(
            keys: keys, site: settings.site ?? "", member: member, readTimeout: settings.readTimeout,
            share: Set(settings.share.compactMap { SharedKind(rawValue: $0.rawValue) }))
    }

    /// Reads keys and password. Returns nil without a server: nothing is shared.
    package static func read(
        _ settings: Settings.Fleet, settingsFile file: String
    ) throws(UnusableSettings) -> FleetSetup? {
        guard !settings.servers.isEmpty else { return nil }
        let named = settings.secretFiles.map { ProviderKeys.File(owner: "fleet", key: $0.key, file: $0.file) }
        let secrets = try ProviderKeys(files: named, settingsFile: file)
        var complaints: [String] = []
        var keys: [[UInt8]] = []
        for path in settings.keyFiles {
            let key = Array((secrets[file: path]?.text ?? "").utf8)
            if key.count < FleetKeys.minBytes {
                complaints.append(
                    "\(file): fleet.key-file \(path): found \(key.count) bytes; allowed: at least "
                        + "\(FleetKeys.minBytes), such as the output of: openssl rand -hex 32")
            }
            keys.append(key)
        }
        guard complaints.isEmpty else { throw UnusableSettings(complaints: complaints) }
        do throws(CryptoError) {
            return FleetSetup(
                settings: settings, keys: try FleetKeys(keys),
                password: settings.passwordFile.flatMap { secrets[file: $0] }, member: Machine.hostName)
        } catch {
            throw UnusableSettings(complaints: ["\(file): fleet: \(error.text)"])
        }
    }
}

extension Settings.Fleet.Server {
    /// The server to connect to.
    var endpoint: RedisConnection.Server {
        switch self {
        case .local(let path): .local(path)
        case .remote(let address): .remote(address)
        }
    }
}
