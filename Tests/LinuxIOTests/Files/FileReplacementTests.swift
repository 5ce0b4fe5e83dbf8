// Files and links that replace others, and the notices to programs that watch them.

import DNSWire
import Testing

@testable import LinuxIO

struct FileReplacementTests {
    private let directory = TemporaryDirectory()
    private let rights = FileRights(userID: Machine.user.userID, groupID: Machine.user.groupID, mode: 0o640)

    private func look(_ name: String) throws -> FileSnapshot { try FileSnapshot(at: directory(name), maxBytes: 100) }

    private func put(_ text: String, at name: String) throws {
        try FileReplacement.put(Array(text.utf8), rights, at: directory(name), by: directory(".new"))
    }

    @Test("a file takes the place of a file, with its own mode, and nothing is left beside it")
    func file() throws {
        directory.write("before", to: "a")
        try put("after", at: "a")
        #expect(try look("a") == .file(Array("after".utf8), rights))
        #expect(try look(".new") == .absent)
    }

    @Test("what an interrupted time has left is no obstacle")
    func leftOver() throws {
        directory.write("half", to: ".new")
        try put("after", at: "a")
        #expect(try look("a") == .file(Array("after".utf8), rights))
        directory.write("half", to: ".new")
        // The name is in ISO 8859-1, which is not valid UTF-8.
        let target = Array("ther".utf8) + [0xE9]
        try FileReplacement.putLink(to: target, rights, at: directory("a"), by: directory(".new"))
        guard case .link(let found, _) = try look("a") else {
            Issue.record("no link")
            return
        }
        #expect(found == target)
    }

    @Test("a file in the place of a link leaves alone what the link led to")
    func throughLink() throws {
        directory.write("there", to: "target")
        directory.link("a", to: "target")
        try put("after", at: "a")
        #expect(try look("a") == .file(Array("after".utf8), rights))
        #expect(try TextFile.read(directory("target"), maxBytes: 10) == Array("there".utf8))
    }

    @Test("writing over a file leaves no end of the longer one, and follows no link")
    func writtenOver() throws {
        directory.write("a long text", to: "a")
        try FileReplacement.writeOver(directory("a"), with: Array("short".utf8))
        #expect(try TextFile.read(directory("a"), maxBytes: 100) == Array("short".utf8))
        directory.link("b", to: "a")
        #expect(throws: SystemError.self) { try FileReplacement.writeOver(directory("b"), with: []) }
    }

    @Test("removing what is not there is nothing, and a directory with something in it stays")
    func removing() throws {
        try FileReplacement.remove(directory("a"))
        try FileReplacement.makeDirectory(directory("d"))
        try FileReplacement.makeDirectory(directory("d"))
        try put("in it", at: "d/a")
        try FileReplacement.removeDirectory(directory("d"))
        #expect(try look("d") == .directory)
        try FileReplacement.remove(directory("d/a"))
        try FileReplacement.removeDirectory(directory("d"))
        try FileReplacement.removeDirectory(directory("d"))
        #expect(try look("d") == .absent)
    }

    @Test("every spelling of a directory resolves to one path")
    func resolvedDirectories() throws {
        let own = try #require(Directory.resolved(directory.path))
        try FileReplacement.makeDirectory(directory("d"))
        directory.link("link", to: "d")
        for spelling in ["d", "./d", "d/", "/d", "d/../link", "link"] {
            #expect(Directory.resolved(directory(spelling)) == own + "/d", "\(spelling)")
        }
        #expect(Directory.resolved("/") == "/")
        for missing in ["none", "none/..", "d\0"] { #expect(Directory.resolved(directory(missing)) == nil) }
    }

    @Test("a link's end is told through other links, also where nothing is")
    func destinations() throws {
        directory.link("a", to: "b")
        directory.link("b", to: "missing")
        #expect(FileSnapshot.destination(ofLinkAt: directory("a")) == directory("missing"))
        directory.write("", to: "file")
        #expect(FileSnapshot.destination(ofLinkAt: directory("file")) == nil)
    }

    @Test("a directory has room for one at a time")
    func lock() throws {
        do {
            let first = try DirectoryLock(directory.path)
            #expect(throws: SystemError.self) { try take(directory.path) }
            _ = first
        }
        try take(directory.path)
    }

    private func take(_ path: String) throws { _ = try DirectoryLock(path) }

    @Test("mount points are told from their table")
    func mountPoints() {
        let table = """
            21 1 8:1 / / rw - ext4 /dev/a rw
            36 21 8:1 /var/lib/r /etc/resolv.conf rw,relatime - ext4 /dev/a rw
            x
            """
        #expect(MountTable.parse(table) == ["/", "/etc/resolv.conf"])
        #expect(MountTable.points().contains("/"))
    }

    @Test("a program's end and words are told")
    func program() throws {
        let ended = try ChildProgram.run("sh", ["-c", "echo said; exit 3"], timeout: .seconds(20), maxBytes: 100)
        #expect(ended.exitCode == 3 && ended.output == Array("said\n".utf8))
        #expect(throws: SystemError.self) {
            try ChildProgram.run("no-such-program", [], timeout: .seconds(20), maxBytes: 100)
        }
    }

    @Test("a program that closes its output and goes on is ended, too")
    func silentProgram() throws {
        #expect(throws: SystemError(call: "sh", code: 110)) {
            try ChildProgram.run("sh", ["-c", "exec >&- 2>&-; sleep 20"], timeout: .milliseconds(50), maxBytes: 100)
        }
    }

    @Test("a program that does not end is ended, and one that leaves a child behind is not waited for")
    func slowProgram() throws {
        #expect(throws: SystemError(call: "sleep", code: 110)) {
            try ChildProgram.run("sleep", ["100"], timeout: .milliseconds(50), maxBytes: 100)
        }
        let began = Clock.now()
        _ = try ChildProgram.run("sh", ["-c", "sleep 10 & exit 0"], timeout: .seconds(60), maxBytes: 100)
        #expect(Clock.now() - began < .seconds(9))
    }
}
