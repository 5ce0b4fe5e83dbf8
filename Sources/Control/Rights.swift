// Who may do what over the control socket. Opening it is for everyone and so is reading; what changes state is for
// root and for the daemon's own user and group.

package struct Rights: Equatable, Sendable {
    private let userID: UInt32?
    private let groupID: UInt32?

    /// The daemon's own; nil: shared with other programs, which may not change anything.
    package init(userID: UInt32?, groupID: UInt32?) {
        self.userID = userID
        self.groupID = groupID
    }

    /// Why a client, known by its credentials, may not have this request carried out; nil if it may.
    package func refusal(of request: Request, userID: UInt32, groupID: UInt32) -> Refusal? {
        guard request.command.isReserved else { return nil }
        guard !isTrusted(userID: userID, groupID: groupID) else { return nil }
        return Refusal(
            "\(request.command.word) is for \(trusted); you are user \(userID), group \(groupID)",
            wantsJSON: request.wantsJSON)
    }

    /// May do everything.
    package func isTrusted(userID: UInt32, groupID: UInt32) -> Bool {
        userID == Rights.root || userID == self.userID || groupID == self.groupID
    }

    private var trusted: String {
        switch (userID, groupID) {
        case (let user?, let group?): "root, user \(user) and group \(group)"
        case (let user?, nil): "root and user \(user)"
        case (nil, let group?): "root and group \(group)"
        case (nil, nil): "root alone, because the daemon shares its user with other programs"
        }
    }

    private static let root: UInt32 = 0
}
