// The kind, mode and owner of files, and the free space at their path.

import Glibc
import Testing

@testable import LinuxIO

struct FileStatusTests {
    @Test("a file and a directory are told apart, with their bits and their owner")
    func kinds() throws {
        let directory = TemporaryDirectory()
        let file = directory("x")
        let descriptor = unsafe open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        #expect(unsafe chmod(file, 0o640) == 0)
        let status = try FileStatus(at: file)
        #expect(!status.isDirectory && status.mode == 0o640 && status.ownerID == geteuid())
        #expect(try FileStatus(at: directory.path).isDirectory && !FileStatus.isImmutable(file))
    }

    @Test("what is not there is said, and has no room")
    func missing() {
        #expect(throws: SystemError(call: "stat", code: ENOENT)) { try FileStatus(at: "/nonexistent") }
        #expect(throws: SystemError(call: "stat", code: ENOENT)) { try FileStatus(at: "/etc\0x") }
        #expect(FileStatus.freeBytes(at: "/nonexistent") == nil && FileStatus.freeBytes(at: "/") != nil)
        #expect(!FileStatus.isImmutable("/nonexistent"))
    }
}
