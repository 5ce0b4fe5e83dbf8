// A path that a takeover changes: its former state, our state, and its role, which decides how a restore treats later
// changes.

import LinuxIO

struct TakenPath: Equatable, Sendable {
    /// The purpose of the path in the takeover.
    enum Role: String, CaseIterable, Sendable {
        case resolvConf
        /// A settings file with our name; no other program uses it.
        case ownSettings
        /// Another program's settings file with our lines at the end.
        case sharedSettings
        /// A directory for settings; removed if it is empty.
        case folder
        /// A file that another program generates from our settings; its content is not known in advance.
        case generated
        /// A file that only the daemon reads.
        case copy
    }

    let path: String
    let role: Role
    let former: FileSnapshot
    /// The state that the takeover makes. For `generated` it is equal to `former`, since the takeover writes nothing
    /// there.
    let ours: FileSnapshot
    /// True for a mount point: it is overwritten in place, since it cannot be replaced.
    var isWrittenOver = false
}

extension FileRights {
    static let rootFile = FileRights(userID: 0, groupID: 0, mode: 0o644)
    static let rootLink = FileRights(userID: 0, groupID: 0, mode: 0o777)
}

/// A program to run; looked up in the system's standard directories.
struct ProgramCall: Equatable, Sendable {
    let name: String
    let arguments: [String]

    var line: String { ([name] + arguments).joined(separator: " ") }
}
