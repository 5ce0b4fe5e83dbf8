// A user of this machine from the user database.

import CLinux

package struct Account: Equatable, Sendable {
    package let name: String
    package let userID: UInt32
    /// The primary group.
    package let groupID: UInt32

    package init(name: String, userID: UInt32, groupID: UInt32) {
        self.name = name
        self.userID = userID
        self.groupID = groupID
    }

    /// Returns nil if there is no such user.
    ///
    /// - Throws: an error of the user database: EIO, ENOMEM and the like.
    package init?(named name: String) throws(SystemError) {
        guard !name.utf8.contains(0) else { return nil }
        var (user, group): (UInt32, UInt32) = (0, 0)
        let code = unsafe clinux_account(name, &user, &group)
        guard code >= 0 else { return nil }
        guard code == 0 else { throw SystemError(call: "getpwnam_r", code: code) }
        self.init(name: name, userID: user, groupID: group)
    }

    /// Returns the command that makes a system user.
    package static func command(making user: String) -> String {
        "useradd --system --user-group --no-create-home \(user)"
    }

    /// True for uid 0 under any name, and for group root, which can write root's group-writable files.
    package var isRoot: Bool { userID == 0 || groupID == 0 }
}
