// A file that another program may write at the same time.

import Testing

@testable import LinuxIO

struct FileExchangeTests {
    private let directory = TemporaryDirectory()
    private let rights = FileRights(userID: Machine.user.userID, groupID: Machine.user.groupID, mode: 0o640)
    private let new = Array("new".utf8)

    private func look(_ name: String) throws -> FileSnapshot { try FileSnapshot(at: directory(name), maxBytes: 100) }

    private func replace(_ former: FileSnapshot) throws -> Bool {
        try FileExchange.replace(
            former, at: directory("a"), keeping: directory("kept"), with: new, rights, maxBytes: 100)
    }

    private func create() throws {
        try FileExchange.create(new, rights, at: directory("a"), by: directory(".new"))
    }

    @Test("the former file or link moves aside, with its owner and mode")
    func replaced() throws {
        for isLink in [false, true] {
            if isLink { directory.link("a", to: "nowhere") } else { directory.write("old", to: "a") }
            let former = try look("a")
            #expect(try replace(former))
            #expect(try look("a") == .file(new, rights) && look("kept") == former)
            for name in ["a", "kept"] { try FileReplacement.remove(directory(name)) }
        }
    }

    @Test("a file that is not the former one stays, whatever it is")
    func changed() throws {
        directory.write("old", to: "a")
        let former = try look("a")
        for text in ["edited", String(repeating: "long", count: 100)] {
            directory.write(text, to: "a")
            #expect(try !replace(former))
            #expect(try TextFile.read(directory("a"), maxBytes: 1000) == Array(text.utf8))
            #expect(try look("kept") == .absent)
        }
        try FileReplacement.remove(directory("a"))
        #expect(try !replace(former))
        #expect(try look("a") == .absent && look("kept") == .absent)
        try FileReplacement.makeDirectory(directory("a"))
        #expect(try !replace(former))
        #expect(try look("a") == .directory && look("kept") == .absent)
    }

    @Test("a name that is taken is not used for the former file")
    func taken() throws {
        directory.write("old", to: "a")
        directory.write("a key", to: "kept")
        let (former, kept) = (try look("a"), try look("kept"))
        #expect { try replace(former) } throws: { ($0 as? SystemError)?.isAlreadyThere == true }
        #expect(try look("a") == former && look("kept") == kept)
    }

    @Test("a new file appears whole, and only where nothing is")
    func created() throws {
        directory.write("half", to: ".new")
        try create()
        #expect(try look("a") == .file(new, rights) && look(".new") == .absent)
        directory.write("theirs", to: "a")
        let theirs = try look("a")
        #expect { try create() } throws: { ($0 as? SystemError)?.isAlreadyThere == true }
        #expect(try look("a") == theirs && look(".new") == .absent)
    }
}
