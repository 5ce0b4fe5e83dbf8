// The files of `httpdnsctl setup`: keeps a former settings file, writes the new one and a key. Decides nothing.

import Control
import DNSWire
import LinuxIO

struct SetupFiles {
    /// The absolute path of the settings file, with its directories resolved.
    let path: String
    /// The file before the dialogue.
    private let former: FileSnapshot

    /// Bound on the settings file: as much as the daemon reads.
    private static let maxBytes = 1 << 20
    /// Bound on former files: more than a person tells apart.
    private static let maxFormer = 99
    /// How long to wait for other processes, which write two small files.
    private static let patience = Duration.seconds(10)

    /// - Parameters:
    ///   - given: as on the command line.
    ///   - isDryRun: nothing will be written, so the file may be unreadable.
    init(_ given: String, isDryRun: Bool = false) throws(SystemError) {
        path = SetupFiles.resolved(given)
        former = isDryRun ? .absent : try FileSnapshot(at: path, maxBytes: SetupFiles.maxBytes)
    }

    var exists: Bool { former != .absent }

    /// The settings of the former file; of a link, those of the file that it leads to. Without a file, or if it can't
    /// be read: none.
    var formerSettings: FormerSettings {
        (try? TextFile.read(path, maxBytes: SetupFiles.maxBytes)).map { FormerSettings($0) } ?? .none
    }

    /// Whether the path can be written: it is free, or has a regular file, or a link that leads to one or nowhere. What
    /// the links of /dev lead to depends on the process.
    var isReplaceable: Bool {
        guard !["", ".", ".."].contains(SystemPaths.name(of: path)), directory != "/dev" else { return false }
        return switch former {
        case .absent, .file: true
        case .link(let target, _): !isOfProcess(target) && (try? FileStatus(at: path))?.isRegular ?? true
        case .directory, .other: false
        }
    }

    /// Whether a link leads to an open file of the process, such as its output.
    private func isOfProcess(_ target: [UInt8]) -> Bool {
        ["/dev/", "/proc/"].contains { target.starts(with: $0.utf8) }
    }

    /// Whether this user may write a file with the owner of the former one.
    var isOwnerAllowed: Bool { Privileges.isRoot || rights.userID == Machine.user.userID }

    var directory: String { SetupFiles.parent(of: path) }

    /// The directory in which the file, or a new directory for it, is created.
    var existingDirectory: String { MachineFiles.exists(directory) ? directory : SetupFiles.parent(of: directory) }

    /// Where an existing file is kept: the first free name; nil if there is no file, or no free name.
    var formerPath: String? {
        guard exists else { return nil }
        return formerPaths.first { (try? FileSnapshot(at: $0, maxBytes: SetupFiles.maxBytes)) == .absent }
    }

    private var formerPaths: [String] { (1...SetupFiles.maxFormer).map { "\(formerPrefix)\($0)" } }

    private var formerPrefix: String { "\(path).old-" }

    /// Whether a file beside the settings has one of the names that `write` uses.
    private func isCopy(_ other: String) -> Bool {
        other.hasPrefix(formerPrefix) || other == SystemPaths.unfinished(path)
    }

    /// Owner and mode of the new file: those of the former one.
    private var rights: FileRights {
        if case .file(_, let rights) = former { return rights }
        if case .link = former, let target = try? FileStatus(at: path) {
            return FileRights(userID: target.ownerID, groupID: target.groupID, mode: target.mode)
        }
        let (userID, groupID) = Machine.user
        return FileRights(userID: userID, groupID: groupID, mode: 0o644)
    }

    /// Creates the directory if it is missing, and waits for other processes that write into it.
    func lock() throws(SystemError) -> DirectoryLock {
        try ChangeLock.take(directory, patience: SetupFiles.patience)
    }

    /// Whether the file has changed since the initializer read it.
    func hasChanged() throws(SystemError) -> Bool {
        try FileSnapshot(at: path, maxBytes: SetupFiles.maxBytes) != former
    }

    /// Writes the file and keeps the former one, with its owner and mode, under the first free name. A reader sees the
    /// former file or the new one.
    ///
    /// - Returns: nil if the file has changed since the initializer read it, and stays.
    func write(_ text: String) throws(SystemError) -> SetupReport? {
        let bytes = Array(text.utf8)
        guard exists else {
            do throws(SystemError) {
                try FileExchange.create(bytes, rights, at: path, by: SystemPaths.unfinished(path))
                return SetupReport(path: path, former: nil)
            } catch {
                guard error.isAlreadyThere else { throw error }
                return nil
            }
        }
        for kept in formerPaths {
            do throws(SystemError) {
                let isReplaced = try FileExchange.replace(
                    former, at: path, keeping: kept, with: bytes, rights, maxBytes: SetupFiles.maxBytes)
                return isReplaced ? SetupReport(path: path, former: kept) : nil
            } catch {
                guard error.isAlreadyThere, kept != formerPaths.last else { throw error }
            }
        }
        return nil
    }

    /// Writes a new file with a key, for its owner alone.
    static func writeKey(_ key: String, at path: String) throws(SystemError) {
        try FileReplacement.makeDirectory(parent(of: path))
        let (userID, groupID) = try keyOwner()
        try NewFile.write(
            Array("\(key)\n".utf8), at: path, FileRights(userID: userID, groupID: groupID, mode: 0o600))
    }

    /// The user who must own a new key: the daemon's, or without root the caller.
    private static func keyOwner() throws(SystemError) -> (userID: UInt32, groupID: UInt32) {
        guard Privileges.isRoot, let account = try Account(named: KeyFileCheck.userName) else { return Machine.user }
        return (account.userID, account.groupID)
    }

    /// Judges a path for the key of the account.
    func keyFile(_ keyPath: String) -> SetupMachine.KeyFile {
        guard SetupFiles.resolved(keyPath) != path else {
            return .fault("\(keyPath) is the settings file; a key has a file of its own")
        }
        guard !isCopy(SetupFiles.resolved(keyPath)) else {
            return .fault("\(keyPath) may become a copy of the settings file; a key has a file of its own")
        }
        guard let place = MachineFiles.place(keyPath, .secret("key-file")) else {
            return .fault("\(keyPath) can't be examined: its directory is not open to you; run setup with sudo")
        }
        guard place.status != nil || SymbolicLinks.target(ofLinkAt: keyPath) == nil else {
            return .fault("\(keyPath) is a link to a file that does not exist; name the file itself")
        }
        let (userID, groupID) = Machine.user
        return KeyFileCheck(
            place: place,
            daemon: FileCheck.User(
                name: KeyFileCheck.userName, passwd: MachineFiles.text("/etc/passwd"),
                group: MachineFiles.text("/etc/group")),
            caller: FileCheck.User(name: "uid \(userID)", id: userID, groups: [groupID], group: "\(groupID)"),
            isWritable: FileStatus.isWritable(directory: KeyFileCheck.existingDirectory(of: place))
        ).verdict
    }

    /// Returns the absolute path, with its directories resolved as far as they exist. Two spellings of a file's path
    /// give the same one. The file itself may be a link.
    static func resolved(_ path: String) -> String {
        guard path.hasPrefix("/") else { return resolved("\(Machine.currentDirectory)/\(path)") }
        let directory = resolvedDirectory(parent(of: path))
        return directory == "/" ? "/\(SystemPaths.name(of: path))" : "\(directory)/\(SystemPaths.name(of: path))"
    }

    private static func resolvedDirectory(_ path: String) -> String {
        if let directory = Directory.resolved(path) { return directory }
        guard path != "/" else { return path }
        return ["", "."].contains(SystemPaths.name(of: path)) ? resolvedDirectory(parent(of: path)) : resolved(path)
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
