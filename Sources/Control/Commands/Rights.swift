// Access control of the control socket. Every user may connect and read; only root and the daemon's own user and group
// may change state.

package struct Rights: Equatable, Sendable {
    private let userID: UInt32?
    private let groupID: UInt32?

    /// Takes the daemon's own user and group. Nil if other programs share the ID, which then gives no right to change
    /// state.
    package init(userID: UInt32?, groupID: UInt32?) {
        self.userID = userID
        self.groupID = groupID
    }

    /// Returns why the client with these credentials may not run the request; nil if it may.
    package func refusal(of request: Request, userID: UInt32, groupID: UInt32) -> Refusal? {
        guard let words = request.command.reservedWords else { return nil }
        guard !isTrusted(userID: userID, groupID: groupID) else { return nil }
        return Refusal("\(words) is for \(trusted); you are user \(userID), group \(groupID)")
    }

    /// Whether the client may run every command.
    ///
    /// - Parameter groupID: the client's group; nil: unknown.
    package func isTrusted(userID: UInt32, groupID: UInt32?) -> Bool {
        userID == Rights.root || userID == self.userID || groupID.map { $0 == self.groupID } ?? false
    }

    private var trusted: String {
        switch (userID, groupID) {
        case (let user?, let group?): "root, user \(user) and group \(group)"
        case (let user?, nil): "root and user \(user)"
        case (nil, let group?): "root and group \(group)"
        case (nil, nil): "root only, because the daemon shares its user with other programs"
        }
    }

    private static let root: UInt32 = 0
}
