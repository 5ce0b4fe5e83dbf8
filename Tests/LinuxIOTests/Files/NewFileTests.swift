// Files that must not exist before.

import Testing

@testable import LinuxIO

struct NewFileTests {
    private let directory = TemporaryDirectory()

    @Test("a new file belongs to its owner alone")
    func new() throws {
        let path = directory("a")
        try NewFile.write(Array("text".utf8), at: path)
        let (content, _) = try TextFile.readWithRights(path, maxBytes: 100)
        #expect(content == Array("text".utf8))
        #expect(try FileStatus(at: path).mode == 0o600)
    }

    @Test("neither a file nor a link is overwritten")
    func existing() throws {
        directory.write("before", to: "a")
        let before = try FileStatus(at: directory("a"))
        #expect { try NewFile.write([1], at: directory("a")) } throws: { ($0 as? SystemError)?.isAlreadyThere == true }
        #expect(try TextFile.read(directory("a"), maxBytes: 100) == Array("before".utf8))
        #expect(try FileStatus(at: directory("a")) == before)
        let rights = FileRights(userID: Machine.user.userID, groupID: Machine.user.groupID, mode: 0o777)
        try FileReplacement.putLink(to: Array("b".utf8), rights, at: directory("link"), by: directory(".new"))
        #expect(throws: SystemError.self) { try NewFile.write([1], at: directory("link")) }
        #expect(throws: SystemError.self) { try FileStatus(at: directory("b")) }
    }

    @Test("a new file can belong to another user, if the process may give it away")
    func owner() throws {
        let (userID, groupID) = Privileges.isRoot ? (Machine.sharedID, Machine.sharedID) : Machine.user
        try NewFile.write([1], at: directory("a"), FileRights(userID: userID, groupID: groupID, mode: 0o640))
        let status = try FileStatus(at: directory("a"))
        #expect(status.ownerID == userID && status.groupID == groupID && status.mode == 0o640)
        guard !Privileges.isRoot else { return }
        let roots = FileRights(userID: 0, groupID: 0, mode: 0o600)
        #expect(throws: SystemError.self) { try NewFile.write([1], at: directory("b"), roots) }
        #expect(throws: SystemError.self) { try FileStatus(at: directory("b")) }
    }

    @Test("a missing directory, a directory and a NUL are errors")
    func errors() {
        for path in [directory("none/a"), directory(""), directory("a\0b")] {
            #expect(throws: SystemError.self) { try NewFile.write([1], at: path) }
        }
    }
}
