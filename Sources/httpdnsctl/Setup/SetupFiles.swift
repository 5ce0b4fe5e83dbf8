// The files of `httpdnsctl setup`: keeps a former settings file, writes the new one and a key. Decides nothing.

import DNSWire
import LinuxIO

struct SetupFiles {
    /// Absolute.
    let path: String
    private let former: FileSnapshot

    /// The user of the installed daemon.
    static let userName = "httpdnsd"
    /// As much as the daemon reads.
    private static let maxBytes = 1 << 20
    /// More former files than a person tells apart.
    private static let maxFormer = 99

    /// - Parameter given: as on the command line.
    init(_ given: String) throws(SystemError) {
        path = given.hasPrefix("/") ? given : "\(Machine.currentDirectory)/\(given)"
        former = try FileSnapshot(at: path, maxBytes: SetupFiles.maxBytes)
    }

    var exists: Bool { former != .absent }

    /// Whether the path can be written: nothing is there, or a file or link.
    var isReplaceable: Bool { former != .directory && former != .other }

    var directory: String { SetupFiles.parent(of: path) }

    /// The directory in which the file, or a new directory for it, is created.
    var place: String { MachineFiles.exists(directory) ? directory : SetupFiles.parent(of: directory) }

    /// Where an existing file is kept: the first free name; nil if there is no file, or no free name.
    var formerPath: String? {
        guard exists else { return nil }
        return (1...SetupFiles.maxFormer).lazy.map { "\(path).old-\($0)" }.first { name in
            (try? FileSnapshot(at: name, maxBytes: SetupFiles.maxBytes)) == .absent
        }
    }

    /// Replaces the file. A reader sees the old one or the new one.
    ///
    /// - Parameter kept: where the former file stays, with its owner and mode.
    func write(_ text: String, keeping kept: String?) throws(SystemError) {
        try FileReplacement.makeDirectory(directory)
        if let kept { try SystemFiles.put(FileState(former), at: kept, isWrittenOver: false) }
        let (userID, groupID) = Machine.user
        let rights = FileRights(userID: userID, groupID: groupID, mode: 0o644)
        try FileReplacement.put(Array(text.utf8), rights, at: path, by: SystemPaths.unfinished(path))
    }

    /// Writes a key for its owner alone.
    static func writeKey(_ key: String, at path: String) throws(SystemError) {
        guard let owner = try keyOwner() else { return }
        let rights = FileRights(userID: owner.userID, groupID: owner.groupID, mode: 0o600)
        try FileReplacement.makeDirectory(parent(of: path))
        try FileReplacement.put(Array("\(key)\n".utf8), rights, at: path, by: SystemPaths.unfinished(path))
    }

    /// The user who must own a new key: the daemon's, or without root the caller. Nil: no such user.
    static func keyOwner() throws(SystemError) -> (userID: UInt32, groupID: UInt32)? {
        guard Privileges.isRoot else { return Machine.user }
        return try Account(named: userName).map { ($0.userID, $0.groupID) }
    }

    /// Judges a key file by the rules of the doctor.
    static func keyFile(_ path: String) -> SetupMachine.KeyFile {
        guard let place = MachineFiles.place(path, .secret("key-file")) else {
            return .fault("\(path) can't be examined: its directory is not open to you; run setup with sudo")
        }
        guard let status = place.status else { return .missing }
        guard !status.isDirectory else { return .fault("\(path) is a directory; a key has a file of its own") }
        let installed = FileCheck.User(
            name: userName, passwd: MachineFiles.text("/etc/passwd"), group: MachineFiles.text("/etc/group"))
        let (userID, groupID) = Machine.user
        let caller = FileCheck.User(name: "user \(userID)", id: userID, groups: [groupID])
        let check = FileCheck(
            user: Privileges.isRoot ? installed : caller, userName: userName, isUserNeeded: false, places: [place])
        return check.findings.first.map { .fault("\($0.text); remedy: \($0.remedy)") } ?? .usable
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
