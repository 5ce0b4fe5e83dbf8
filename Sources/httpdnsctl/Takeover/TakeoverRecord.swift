// The changes of a takeover, complete enough to undo all of them. The record is on disk before the first change and
// is removed after the last undo.

import LinuxIO

struct TakeoverRecord: Equatable, Sendable {
    let manager: ResolvConfWriter
    /// The daemon's addresses, at port 53.
    let addresses: [String]
    /// All steps are done, and the daemon was seen to answer queries.
    var isComplete: Bool
    /// The changed paths, in the order of the changes.
    let paths: [TakenPath]
    /// Programs that were called, and that are called again after a restore.
    let calls: [ProgramCall]

    /// Bound on a record. A resolv.conf has a few hundred bytes, resolvconf.conf a few thousand. A record quotes each
    /// up to four times.
    static let maxBytes = 8 << 20
    /// Limit for a file that a takeover changes.
    static let maxFileBytes = 256 << 10

    /// The mode of the record file, which root owns: no wider than the modes of the files that it quotes.
    var mode: UInt32 {
        paths.reduce(0o644) { mode, path in
            guard case .file(_, let owner) = path.former else { return mode }
            return mode & (owner.mode | 0o600)
        }
    }

    /// Returns the paths that differ from our state.
    func changed(_ states: [String: FileSnapshot]) -> [String] {
        paths.filter { $0.role != .generated && $0.role != .folder && states[$0.path] ?? .absent != $0.ours }
            .map(\.path)
    }
}
