// What a takeover has changed, or is about to: enough to give all of it back without anybody's help. It is on the disk
// before the first change, and goes away after the last one is undone.

package struct TakeoverRecord: Equatable, Sendable {
    package let keeper: ResolverKeeper
    /// The daemon's, at port 53.
    package let addresses: [String]
    /// All steps were taken, and names were seen to come from the daemon.
    package var isComplete: Bool
    /// In the order of the changes.
    package let paths: [TakenPath]
    /// Who was told, and has to be told again when all is back.
    package let calls: [ProgramCall]

    /// A resolv.conf has a few hundred bytes, resolvconf.conf some thousand; a record quotes each up to four times
    /// over.
    package static let maxBytes = 8 << 20
    /// Of a file that we change.
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

    /// Of the file that it is written to: what nobody else could read before is not shown there. Root's own.
    package var mode: UInt32 {
        paths.reduce(0o644) { mode, path in
            guard case .file(_, let owner) = path.former else { return mode }
            return mode & (owner.mode | 0o600)
        }
    }

    /// Paths that are no longer as we made them.
    package func changed(_ states: [String: FileState]) -> [String] {
        paths.filter { $0.role != .generated && $0.role != .folder && states[$0.path] ?? .absent != $0.ours }
            .map(\.path)
    }
}
