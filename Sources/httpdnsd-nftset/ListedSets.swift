// The sets that the settings file names: the only ones that the helper changes. The file is the operator's; what the
// daemon says does not count.

import DNSWire
import LinuxIO
import Settings

final class ListedSets {
    private static let standardPath = "/etc/httpdnsd/httpdnsd.toml"
    /// The same limit as the daemon's.
    private static let maxBytes = 1 << 20
    /// The file is read again at most this often, before a request.
    private static let pause: Duration = .seconds(1)

    private let path: String
    private(set) var sets: Set<AddressSet>
    let socket: String
    let daemonUser: String?
    private var bytes: [UInt8]
    private var readAt: Instant

    /// - Parameter path: nil: the standard file, which may be missing.
    init(_ path: String?) throws(HelperFailure) {
        self.path = path ?? ListedSets.standardPath
        readAt = Clock.now()
        do throws(SystemError) {
            bytes = try TextFile.read(self.path, maxBytes: ListedSets.maxBytes)
        } catch {
            guard path == nil, error.isNoSuchFile else { throw HelperFailure("\(self.path): can't be read: \(error)") }
            bytes = []
        }
        let settings: Settings
        do throws(SettingsError) {
            settings = try Settings.parse(bytes: bytes, file: self.path)
        } catch {
            throw HelperFailure(error.description)
        }
        (sets, socket, daemonUser) = (settings.addressSets, settings.control.nftsetSocket, settings.server.user)
    }

    /// Returns whether the settings name the set, also if they have just been changed.
    func names(_ set: AddressSet, now: Instant) -> Bool {
        if now >= readAt + ListedSets.pause {
            readAt = now
            readAgain()
        }
        return sets.contains(set)
    }

    /// Former sets stay if the file is missing or has errors.
    private func readAgain() {
        guard let new = try? TextFile.read(path, maxBytes: ListedSets.maxBytes), new != bytes else { return }
        bytes = new
        guard let settings = try? Settings.parse(bytes: new, file: path) else { return }
        sets = settings.addressSets
    }
}

extension Settings {
    fileprivate var addressSets: Set<AddressSet> { Set(rules.flatMap { $0.nftset ?? [] }.map(\.set)) }
}
