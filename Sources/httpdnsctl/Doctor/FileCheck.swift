// Checks that the daemon's user can access its files and that other users cannot read its keys. Opens no file: the
// caller supplies owners and modes.

import LinuxIO
import Settings

struct FileCheck: Sendable {
    struct User: Equatable, Sendable {
        let name: String
        let id: UInt32
        let groups: Set<UInt32>
        /// The user's own group, as chgrp takes it.
        let group: String

        /// - Parameter group: by default the group with the name of the user.
        init(name: String, id: UInt32, groups: Set<UInt32>, group: String? = nil) {
            self.name = name
            self.id = id
            self.groups = groups
            self.group = group ?? name
        }
    }

    enum Purpose: Equatable, Sendable {
        /// The settings file.
        case read
        /// A key file; the value is its settings key.
        case secret(LocalizedText)
        /// A file or directory with names, without which the daemon starts; the value is its settings key.
        case names(LocalizedText, mayBeMissing: Bool)
        /// A directory in which the daemon creates files.
        case make(LocalizedText)
        /// An existing file that the daemon writes.
        case write(LocalizedText)
    }

    struct Place: Equatable, Sendable {
        let path: String
        let purpose: Purpose
        /// The status of each component, from the root to the path itself; nil: missing.
        let steps: [FileStatus?]
        /// Free space of the file system; for directories only.
        var freeBytes: Int?

        var status: FileStatus? { steps.last ?? nil }
    }

    /// The user; nil: this machine has no such user.
    let user: User?
    /// The user's name from the settings, or the default name.
    let userName: String
    /// The user must exist: the service is installed, or the settings name it.
    let isUserNeeded: Bool
    let places: [Place]

    /// Minimum of free space: enough for the store, its journal and a crash dump.
    private static let minFreeBytes = 64 << 20

    /// Last component of the directories that the daemon owns.
    private static let ownName = "httpdnsd"

    var findings: [Finding] {
        var findings: [Finding] = []
        if user == nil, isUserNeeded {
            findings.append(
                Finding(
                    .fault, .files, "server.user is \(userName), but this user does not exist",
                    remedy: "systemd-sysusers creates httpdnsd; adduser --system --group --no-create-home \(userName)"))
        }
        return findings + places.flatMap(shown)
    }

    /// Returns the findings about a place without the path of a secret, because the path may be the secret itself.
    private func shown(_ place: Place) -> [Finding] {
        guard case .secret = place.purpose else { return look(place) }
        return look(place).map { finding in
            Finding(
                finding.gravity, .files, finding.text.mapValues { Settings.Provider.shown($0, about: place.path) },
                remedy: finding.remedy.mapValues { Settings.Provider.shown($0, about: place.path) })
        }
    }

    private func look(_ place: Place) -> [Finding] {
        guard let status = place.status else { return missing(place) }
        var findings: [Finding] = []
        if case .secret(let key) = place.purpose, status.mode & 0o007 != 0 {
            findings.append(
                warning("\(place.path) (\(key)) is accessible to all users", FileCheck.command("chmod o=", place.path)))
        }
        if let user { findings += hindrances(place, status, user) }
        if let free = place.freeBytes, free < FileCheck.minFreeBytes {
            findings.append(
                warning("\(free >> 20) MiB are free for \(place.path)", "df -h \(place.path); free some space"))
        }
        return findings
    }

    private func missing(_ place: Place) -> [Finding] {
        switch place.purpose {
        case .read, .write, .names(_, mayBeMissing: true): []
        case .names(let key, mayBeMissing: false):
            [warning("\(place.path) (\(key)) does not exist", "create it, or remove it from the settings")]
        case .secret(let key):
            [
                Finding(
                    .fault, .files, "\(place.path) (\(key)) does not exist",
                    remedy: "put the account's key there: install -m 400 -o \(userName) KEYFILE \(place.path)")
            ]
        // The daemon creates this directory before it drops privileges.
        case .make where place.path.hasSuffix("/\(FileCheck.ownName)"): []
        case .make(let what):
            [
                warning(
                    "\(place.path) (\(what)) does not exist",
                    FileCheck.command("install -d -o \(userName)", place.path))
            ]
        }
    }

    private func hindrances(_ place: Place, _ status: FileStatus, _ user: User) -> [Finding] {
        if let closed = place.steps.dropLast().firstIndex(where: { $0.map { !$0.allows(user, 1) } ?? false }) {
            let path = FileCheck.path(place.path, steps: closed)
            return [
                warning(
                    "\(user.name) can't search \(path) to reach \(place.path)", FileCheck.command("chmod +x", path))
            ]
        }
        switch place.purpose {
        case .read:
            guard !status.allows(user, 4) else { return [] }
            return [
                Finding(
                    .fault, .files, "\(place.path) can't be read by \(user.name)",
                    remedy: FileCheck.command("chmod a+r", place.path))
            ]
        case .secret(let key):
            guard !status.allows(user, 4) else { return [] }
            let remedy =
                status.ownerID == user.id
                ? FileCheck.command("chmod u+r", place.path)
                : FileCheck.command("chgrp \(user.group) \(place.path); chmod g+r", place.path)
            return [
                Finding(
                    .fault, .files, "\(place.path) (\(key)) can't be read by \(user.name)", remedy: remedy)
            ]
        case .names(let key, _):
            guard !status.allows(user, 4) || status.isDirectory && !status.allows(user, 1) else { return [] }
            return [
                warning(
                    "\(place.path) (\(key)) can't be read by \(user.name)",
                    FileCheck.command(status.isDirectory ? "chmod a+rx" : "chmod a+r", place.path))
            ]
        case .make(let what):
            guard !status.allows(user, 2) || !status.allows(user, 1) else { return [] }
            return [
                warning(
                    "\(user.name) can't write into \(place.path) (\(what))",
                    FileCheck.command("chown \(user.name):", place.path))
            ]
        case .write(let what):
            guard !status.allows(user, 2) else { return [] }
            return [
                warning(
                    "\(user.name) can't write to \(place.path) (\(what))",
                    FileCheck.command("chown \(user.name):", place.path))
            ]
        }
    }

    /// Returns the first `steps` components of a path: "/a/b/c" has the steps "/", "/a", "/a/b".
    static func path(_ path: String, steps: Int) -> String {
        "/" + path.split(separator: "/").prefix(steps).joined(separator: "/")
    }

    private static func command(_ command: String, _ path: String) -> LocalizedText {
        LocalizedText(verbatim: "\(command) \(path)")
    }

    private func warning(_ text: LocalizedText, _ remedy: LocalizedText) -> Finding {
        Finding(.warning, .files, text, remedy: remedy)
    }
}

extension FileCheck.User {
    /// - Parameters:
    ///   - passwd: content of passwd(5).
    ///   - group: content of group(5).
    init?(name: String, passwd: String, group: String) {
        let fields = { (line: Substring) in line.split(separator: ":", omittingEmptySubsequences: false) }
        let line = passwd.split(separator: "\n").map(fields).first { $0.count >= 4 && $0[0] == name }
        guard let line, let id = UInt32(line[2]), let primary = UInt32(line[3]) else { return nil }
        var groups: Set<UInt32> = [primary]
        for entry in group.split(separator: "\n").map(fields) where entry.count >= 4 {
            guard entry[3].split(separator: ",").contains(where: { $0 == name }), let id = UInt32(entry[2]) else {
                continue
            }
            groups.insert(id)
        }
        self.init(name: name, id: id, groups: groups)
    }
}

extension FileStatus {
    /// - Parameter bit: 4 to read, 2 to write, 1 to search a directory or execute a file.
    func allows(_ user: FileCheck.User, _ bit: UInt32) -> Bool {
        if user.id == 0 { return true }
        if ownerID == user.id { return mode >> 6 & bit != 0 }
        if user.groups.contains(groupID) { return mode >> 3 & bit != 0 }
        return mode & bit != 0
    }
}
