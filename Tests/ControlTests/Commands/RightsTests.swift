// The rights of users on the control socket where the daemon shares its IDs with other programs.

import Testing

@testable import Control

@Suite("Rights of a daemon that runs as the shared user 65534")
struct RightsTests {
    @Test("a shared user or group may change nothing, and the refusal names the users that may")
    func shared() throws {
        let flush = try Request(line: Array("flush --all".utf8))
        for (userID, groupID, trusted) in [
            (nil, nil, "root only, because the daemon shares its user with other programs"),
            (nil, 997, "root and group 997"), (998, nil, "root and user 998"),
        ] as [(UInt32?, UInt32?, String)] {
            let rights = Rights(userID: userID, groupID: groupID)
            #expect(rights.refusal(of: flush, userID: 0, groupID: 0) == nil)
            #expect(
                rights.refusal(of: flush, userID: 65_534, groupID: 65_534)?.reason
                    == "flush is for \(trusted); you are user 65534, group 65534")
            #expect(rights.isTrusted(userID: 998, groupID: 1000) == (userID == 998))
            #expect(rights.isTrusted(userID: 1000, groupID: 997) == (groupID == 997))
        }
    }
}
