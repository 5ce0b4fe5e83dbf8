// What the settings file grants: the sets that the helper changes, and the user that may connect. The file is the
// operator's; what the daemon says does not count.

import DNSWire
import LinuxIO
import Settings

final class ListedSets {
    private static let standardPath = "/etc/httpdnsd/httpdnsd.toml"
    /// The same limit as the daemon's.
    private static let maxBytes = 1 << 20
    /// The file is read again at most this often, before a connection or a request.
    private static let pause: Duration = .seconds(1)
    /// If the settings name no user.
    private static let standardUser = "httpdnsd"

    private let path: String
    private(set) var sets: Set<AddressSet>
    let socket: String
    private(set) var daemon: Account
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
        (sets, socket) = (settings.addressSets, settings.control.nftsetSocket)
        daemon = try Account.orShared(settings.server.user ?? ListedSets.standardUser)
    }

    /// Returns whether it is the daemon's user or root, also if the settings have just been changed. The daemon's group
    /// is not enough: operators may be in it.
    func mayConnect(userID: UInt32, now: Instant) -> Bool {
        readAgain(now: now)
        return userID == 0 || userID == daemon.userID
    }

    /// Returns whether the settings name the set, also if they have just been changed.
    func names(_ set: AddressSet, now: Instant) -> Bool {
        readAgain(now: now)
        return sets.contains(set)
    }

    /// What was granted stays if the file is missing or has errors.
    private func readAgain(now: Instant) {
        guard now >= readAt + ListedSets.pause else { return }
        readAt = now
        guard let new = try? TextFile.read(path, maxBytes: ListedSets.maxBytes), new != bytes else { return }
        bytes = new
        guard let settings = try? Settings.parse(bytes: new, file: path) else { return }
        sets = settings.addressSets
        if let user = try? Account.orShared(settings.server.user ?? ListedSets.standardUser) { daemon = user }
    }
}

extension Account {
    /// The account of this name. A machine without it has the ID that programs share there.
    static func orShared(_ name: String) throws(HelperFailure) -> Account {
        do throws(SystemError) {
            return try Account(named: name) ?? Account(name: name, userID: Machine.sharedID, groupID: Machine.sharedID)
        } catch {
            throw HelperFailure("user \(name) can't be looked up: \(error)")
        }
    }
}

extension Settings {
    fileprivate var addressSets: Set<AddressSet> { Set(rules.flatMap { $0.nftset ?? [] }.map(\.set)) }
}
