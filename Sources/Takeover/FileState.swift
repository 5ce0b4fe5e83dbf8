// What stands at a path: all of it that has to be the same again afterwards.

package enum FileState: Equatable, Sendable {
    case absent
    case file([UInt8], FileOwner)
    /// A target is bytes, in no spelling that is known.
    case link(target: [UInt8], FileOwner)
    case directory
    /// Neither of these, or not ours to read: never touched.
    case other

    package var bytes: [UInt8]? {
        if case .file(let bytes, _) = self { return bytes }
        return nil
    }

    var target: [UInt8]? {
        if case .link(let target, _) = self { return target }
        return nil
    }

    /// Whether a file that was being written over, in its place, can have come out of `former` and `next`: at each
    /// byte it has what the one or the other has there. Such a writing ends with cutting what is too long.
    func isMixture(of former: FileState, and next: FileState) -> Bool {
        guard let bytes, let old = former.bytes, let new = next.bytes else { return false }
        guard bytes.count >= min(old.count, new.count), bytes.count <= max(old.count, new.count) else { return false }
        return bytes.indices.allSatisfy { index in
            (index < old.count && bytes[index] == old[index]) || (index < new.count && bytes[index] == new[index])
        }
    }
}

package struct FileOwner: Equatable, Sendable {
    package let userID: UInt32
    package let groupID: UInt32
    /// The twelve lower bits; of a link 0o777.
    package let mode: UInt32

    package init(userID: UInt32, groupID: UInt32, mode: UInt32) {
        self.userID = userID
        self.groupID = groupID
        self.mode = mode
    }

    static let rootFile = FileOwner(userID: 0, groupID: 0, mode: 0o644)
    static let rootLink = FileOwner(userID: 0, groupID: 0, mode: 0o777)
}
