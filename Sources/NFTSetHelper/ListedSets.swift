// The rights that the settings file grants: the sets that the helper changes, and without a service manager the user
// that may connect. The file is the operator's; the daemon's requests do not extend it.

import DNSWire
import LinuxIO
import Settings

final class ListedSets {
    private static let standardPath = "/etc/httpdnsd/httpdnsd.toml"
    /// Bound on the settings file, the same as the daemon's.
    private static let maxBytes = 1 << 20
    /// The file is read again at most this often, before a connection or a request.
    private static let pause: Duration = .seconds(1)
    /// The daemon's user if the settings name none.
    private static let standardUser = "httpdnsd"

    private let path: String
    private(set) var sets: Set<AddressSet>
    let socket: String
    /// The daemon's user by the settings; nil: there is no such user.
    private(set) var daemon: Account?
    /// The owner of the service manager's socket, who counts instead of the settings; nil without a service manager.
    var socketOwnerID: UInt32?
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
        daemon = try Account.ifKnown(settings.server.user ?? ListedSets.standardUser)
    }

    /// Returns why the user may not connect; nil: it is root or the daemon's user, also if the settings have just been
    /// changed. The daemon's group is not enough: operators may be in it.
    func refusal(ofUserID userID: UInt32, now: Instant) -> String? {
        readAgain(now: now)
        guard userID != 0 else { return nil }
        if userID == Machine.sharedID { return "other programs may have it, too; run the daemon as a user of its own" }
        guard let socketOwnerID else {
            guard let daemon else { return "only root may connect; create the daemon's user, or set server.user" }
            return userID == daemon.userID
                ? nil : "only root and \(daemon.name) may connect; if the daemon runs as another user, set server.user"
        }
        return userID == socketOwnerID
            ? nil
            : "only root and the socket's owner, user ID \(socketOwnerID), may connect; if the daemon runs as another "
                + "user, set SocketUser of httpdnsd-nftset.socket"
    }

    /// Returns whether the settings name the set, also if they have just been changed.
    func names(_ set: AddressSet, now: Instant) -> Bool {
        readAgain(now: now)
        return sets.contains(set)
    }

    /// Reads the file again. The sets and the user stay if the file is missing or has errors.
    private func readAgain(now: Instant) {
        guard now >= readAt + ListedSets.pause else { return }
        readAt = now
        guard let new = try? TextFile.read(path, maxBytes: ListedSets.maxBytes), new != bytes else { return }
        bytes = new
        guard let settings = try? Settings.parse(bytes: new, file: path) else { return }
        sets = settings.addressSets
        if let user = try? Account.ifKnown(settings.server.user ?? ListedSets.standardUser) { daemon = user }
    }
}

extension Account {
    /// The account of this name; nil: there is none.
    static func ifKnown(_ name: String) throws(HelperFailure) -> Account? {
        do throws(SystemError) {
            return try Account(named: name)
        } catch {
            throw HelperFailure("user \(name) can't be looked up: \(error)")
        }
    }
}

extension Settings {
    fileprivate var addressSets: Set<AddressSet> { Set(rules.flatMap { $0.terms.addressSets ?? [] }.map(\.set)) }
}
