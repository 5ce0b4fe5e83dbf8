// Whose rights the daemon has once its ports are bound: never root's, and never a capability. What that user will need
// is made before root's rights are gone, and nothing is opened for it that it could not open.

import LinuxIO
import Settings

struct ServingUser {
    /// Nil: the one who has started us, who is not root.
    let account: Account?

    /// Who serves where the settings name nobody, the first that exists.
    private static let usual = ["httpdnsd", "nobody"]
    /// The last part of the paths of directories that are ours: /var/lib/httpdnsd, /run/httpdnsd.
    private static let ownName = "httpdnsd"

    /// - Parameter name: `server.user`; of no concern unless root has started us.
    init(_ name: String?) throws(StartFailure) {
        guard Privileges.isRoot else {
            account = nil
            return
        }
        for name in name.map({ [$0] }) ?? ServingUser.usual {
            guard let found = try ServingUser.find(name) else { continue }
            guard !found.isRoot else {
                throw StartFailure(
                    "server.user \(name): has root's number or group; name a user with a group of its own")
            }
            account = found
            return
        }
        let name = name ?? ServingUser.ownName
        throw StartFailure(
            "server.user \(name): this machine has no such user; run: \(ServingUser.command(making: name))")
    }

    /// What gives a daemon that runs as nobody a user of its own.
    static let remedyForShared =
        "run: \(command(making: ownName)); then start httpdnsd as root, or name another user in server.user"

    private static func command(making user: String) -> String {
        "useradd --system --user-group --no-create-home \(user)"
    }

    private static func find(_ name: String) throws(StartFailure) -> Account? {
        do throws(SystemError) {
            return try Account(named: name)
        } catch {
            throw StartFailure("server.user \(name): the machine's users can't be looked up: \(error)")
        }
    }

    /// The process goes on as that user, for good.
    func takeOver() throws(StartFailure) {
        do throws(SystemError) {
            if let account { try Privileges.become(account) } else { try Privileges.dropCapabilities() }
        } catch {
            let user = account.map { "user \($0.name) (\($0.userID))" } ?? "its own user without capabilities"
            throw StartFailure(
                "httpdnsd does not serve with more rights than it needs, and can't go on as \(user): \(error); start "
                    + "it as a user without rights, or let it have CAP_SETUID, CAP_SETGID and CAP_SETPCAP")
        }
        // The kernel does this for a process that was root's, unless fs.suid_dumpable = 1.
        if Machine.hasSharedUser { Privileges.hideMemory() }
    }

    /// Directories that it will write to, and files in them that were root's. What can't be had is found by who needs
    /// it.
    ///
    /// - Parameter settingsFile: its directory stays root's, as does the usual one: what stands there is read as root.
    func leaveDirectories(_ settings: Settings, sparing settingsFile: String) {
        guard let account else { return }
        let spared = [settingsFile, SettingsFile.standardPath].map(ServingUser.directory(of:))
        var files: [String: [String]] = [:]
        for path in [settings.control.socket, settings.cache.store].compactMap(\.self) {
            guard let slash = path.lastIndex(of: "/") else { continue }
            files[String(path[..<slash]), default: []] += []
        }
        if let store = settings.cache.store, let slash = store.lastIndex(of: "/") {
            let name = store[store.index(after: slash)...]
            files[String(store[..<slash]), default: []] += ["", "-wal", "-shm", ".lock"].map { name + $0 }
        }
        if let directory = settings.log.recorderDirectory {
            files[directory, default: []] += FlightFiles.names.flatMap { [$0, $0 + ".1"] }
        }
        for (directory, names) in files.sorted(by: { $0.key < $1.key }) {
            try? Bequest.leave(
                directory: directory, ownName: ServingUser.ownName, sparing: spared, files: names, to: account)
        }
    }

    /// What a path without any is relative to is named as well.
    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
