// The user that the daemon runs as once its ports are bound: never root, and without capabilities. Prepares files for
// that user before root's privileges are dropped.

import LinuxIO
import Settings

struct ServingUser {
    /// The user to change to; nil: the daemon was started by a user other than root and stays that user.
    let account: Account?

    /// Default users if settings name none; the first that exists serves. Not an unused uid for each start: the next
    /// start must own the store and the control socket of this one.
    private static let usual = ["httpdnsd", "nobody"]  // nobody: uid 65534
    /// Last path component of the daemon's own directories: /var/lib/httpdnsd, /run/httpdnsd.
    private static let ownName = "httpdnsd"

    /// - Parameter name: `server.user`; ignored unless root started the daemon.
    init(_ name: String?) throws(StartFailure) {
        guard Privileges.isRoot else {
            account = nil
            return
        }
        for name in name.map({ [$0] }) ?? ServingUser.usual {
            guard let found = try ServingUser.find(name) else { continue }
            guard !found.isRoot else {
                throw StartFailure(
                    "server.user \(name): has the uid or gid of root; set it to a user with its own group")
            }
            account = found
            return
        }
        let name = name ?? ServingUser.ownName
        throw StartFailure(
            "server.user \(name): this machine has no such user; run: \(Account.command(making: name))")
    }

    private static func find(_ name: String) throws(StartFailure) -> Account? {
        do throws(SystemError) {
            return try Account(named: name)
        } catch {
            throw StartFailure("server.user \(name): the user database can't be read: \(error)")
        }
    }

    /// Drops the process to that user, permanently.
    func takeOver() throws(StartFailure) {
        do throws(SystemError) {
            if let account { try Privileges.become(account) } else { try Privileges.dropCapabilities() }
        } catch {
            let user = account.map { "user \($0.name) (\($0.userID))" } ?? "its own user without capabilities"
            throw StartFailure(
                "privileges can't be dropped to \(user): \(error); start "
                    + "httpdnsd as an unprivileged user, or grant it CAP_SETUID, CAP_SETGID and CAP_SETPCAP")
        }
        // The kernel hides the memory of a process that was root's, unless fs.suid_dumpable = 1.
        if Machine.hasSharedUser { Privileges.hideMemory() }
    }

    /// Gives the user the directories that the daemon writes to, with root's files in them. Failures are reported
    /// later by the component that needs the directory.
    ///
    /// - Parameter settingsFile: the settings file. Its directory and the usual directory of settings stay root's,
    ///   because their contents are read as root.
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
        if let directory = settings.log.usedRecorderDirectory {
            files[directory, default: []] += FlightFiles.names.flatMap { [$0, $0 + ".1"] }
        }
        for (directory, names) in files.sorted(by: { $0.key < $1.key }) {
            try? StateDirectoryOwnership.leave(
                directory: directory, ownName: ServingUser.ownName, sparing: spared, files: names, to: account)
        }
    }

    /// Returns "." for a path without a slash.
    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
