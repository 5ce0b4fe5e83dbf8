// The changes of a takeover, complete enough to undo all of them. The record is on disk before the first change and
// is removed after the last undo.

package struct TakeoverRecord: Equatable, Sendable {
    package let keeper: ResolverKeeper
    /// The daemon's addresses, at port 53.
    package let addresses: [String]
    /// All steps are done, and the daemon was seen to answer queries.
    package var isComplete: Bool
    /// In the order of the changes.
    package let paths: [TakenPath]
    /// Programs that were called, and that are called again after a restore.
    package let calls: [ProgramCall]

    /// A resolv.conf has a few hundred bytes, resolvconf.conf a few thousand. A record quotes each up to four times.
    package static let maxBytes = 8 << 20
    /// Limit for a file that a takeover changes.
    package static let maxFileBytes = 256 << 10

    package init(
        keeper: ResolverKeeper, addresses: [String], isComplete: Bool, paths: [TakenPath], calls: [ProgramCall]
    ) {
        self.keeper = keeper
        self.addresses = addresses
        self.isComplete = isComplete
        self.paths = paths
        self.calls = calls
    }

    /// The mode of the record file, which root owns. No wider than the modes of the files that it quotes.
    package var mode: UInt32 {
        paths.reduce(0o644) { mode, path in
            guard case .file(_, let owner) = path.former else { return mode }
            return mode & (owner.mode | 0o600)
        }
    }

    /// Returns the paths that differ from our state.
    package func changed(_ states: [String: FileState]) -> [String] {
        paths.filter { $0.role != .generated && $0.role != .folder && states[$0.path] ?? .absent != $0.ours }
            .map(\.path)
    }
}
