// The content, owner and mode of a path: everything that a restore brings back.

enum FileState: Equatable, Sendable {
    case absent
    case file([UInt8], FileOwner)
    /// The target is raw bytes; its encoding is unknown.
    case link(target: [UInt8], FileOwner)
    case directory
    /// Another file type, or an unreadable file; never changed.
    case other

    var bytes: [UInt8]? {
        if case .file(let bytes, _) = self { return bytes }
        return nil
    }

    var target: [UInt8]? {
        if case .link(let target, _) = self { return target }
        return nil
    }

    /// Returns true if an interrupted in-place write from `former` to `next` can explain the content. Each byte must
    /// equal the byte of either file at that offset. Such a write truncates the file at the end.
    func isMixture(of former: FileState, and next: FileState) -> Bool {
        guard let bytes, let old = former.bytes, let new = next.bytes else { return false }
        guard bytes.count >= min(old.count, new.count), bytes.count <= max(old.count, new.count) else { return false }
        return bytes.indices.allSatisfy { index in
            (index < old.count && bytes[index] == old[index]) || (index < new.count && bytes[index] == new[index])
        }
    }
}

struct FileOwner: Equatable, Sendable {
    let userID: UInt32
    let groupID: UInt32
    /// The lower twelve mode bits; 0o777 for a link.
    let mode: UInt32

    static let rootFile = FileOwner(userID: 0, groupID: 0, mode: 0o644)
    static let rootLink = FileOwner(userID: 0, groupID: 0, mode: 0o777)
}
