// Dropping root's privileges. Each test runs in a process of its own, because the change is permanent.

import Glibc
import TestSupport
import Testing

@testable import LinuxIO

@Suite("Giving up rights", .enabled(if: Privileges.isRoot, "needs root"))
struct PrivilegesTests {
    @Test("what was root is the user, without a way back")
    func become() async {
        await #expect(processExitsWith: .success) {
            let nobody = try #require(try Account(named: "nobody"))
            try Privileges.become(nobody)
            #expect(Machine.user == (nobody.userID, nobody.groupID))
            #expect(setuid(0) == -1 && setgid(0) == -1)
            #expect(setgroups(0, nil) == -1)
            #expect(unsafe open("/etc/shadow", O_RDONLY) == -1 && errno == EACCES)
            let bytes = try TextFile.read("/proc/thread-self/status", maxBytes: 1 << 16)
            let status = String(decoding: bytes, as: UTF8.self)
            for line in ["NoNewPrivs:\t1", "Groups:\t \n"] { #expect(status.contains(line), "\(status)") }
            for kind in ["Inh", "Prm", "Eff", "Bnd", "Amb"] {
                #expect(status.contains("Cap\(kind):\t0000000000000000"), "\(status)")
            }
        }
    }

    @Test("a thread that was there loses the user's rights as well")
    func threads() async {
        await #expect(processExitsWith: .success) {
            let (gate, answers) = (try Mailbox<Void>(capacity: 1), try Mailbox<UInt32>(capacity: 1))
            let thread = try NamedThread("earlier") {
                var waits = PollSet([gate.descriptor])
                try? waits.wait()
                _ = answers.post(Machine.user.userID)
            }
            let nobody = try #require(try Account(named: "nobody"))
            try Privileges.become(nobody)
            _ = gate.post(())
            thread.join()
            #expect(answers.takeAll() == [nobody.userID])
        }
    }

    @Test("an account is root by its user ID or group ID, and unknown names have no account")
    func accounts() throws {
        #expect(try Account(named: "root")?.isRoot == true)
        #expect(try Account(named: "nobody")?.isRoot == false)
        #expect(Account(name: "toor", userID: 0, groupID: 100).isRoot)
        #expect(Account(name: "staff", userID: 100, groupID: 0).isRoot)
        for name in ["no-such-user-here", "", "root\0x", String(repeating: "x", count: 10_000)] {
            #expect(try Account(named: name) == nil)
        }
    }
}

@Suite("What root leaves to the user who serves", .enabled(if: Privileges.isRoot, "needs root"))
struct StateDirectoryOwnershipTests {
    private let folder: TemporaryDirectory
    private let user = Account(name: "somebody", userID: 4711, groupID: 4712)

    init() { folder = TemporaryDirectory() }

    private func leave(_ name: String, _ files: [String] = [], sparing spared: [String] = []) throws {
        try StateDirectoryOwnership.leave(
            directory: "\(folder.path)/\(name)", ownName: "ours", sparing: spared, files: files, to: user)
    }

    private func owner(_ name: String) -> UInt32? {
        var status = stat()
        return unsafe lstat("\(folder.path)/\(name)", &status) == 0 ? status.st_uid : nil
    }

    private func make(_ name: String) {
        let file = unsafe open("\(folder.path)/\(name)", O_WRONLY | O_CREAT, 0o600)
        _ = close(file)
    }

    @Test("a directory that is made is the user's")
    func made() throws {
        try leave("new")
        #expect(owner("new") == 4711)
        try leave("a/b")
        #expect(owner("a") == nil)
    }

    @Test("one that was there is given if it has our name, with those of our files that are root's")
    func named() throws {
        for name in ["ours", "other"] {
            _ = unsafe mkdir("\(folder.path)/\(name)", 0o755)
            for file in ["cache", "twice", "foreign"] { make("\(name)/\(file)") }
            _ = unsafe link("\(folder.path)/\(name)/twice", "\(folder.path)/\(name)/again")
            _ = unsafe symlink("\(folder.path)/victim", "\(folder.path)/\(name)/link")
            _ = unsafe mkfifo("\(folder.path)/\(name)/pipe", 0o600)
            make("victim")
            try leave(name, ["cache", "twice", "link", "pipe", "missing"])
        }
        #expect(owner("ours") == 4711 && owner("ours/cache") == 4711)
        for file in ["ours/foreign", "ours/twice", "ours/pipe", "victim", "other", "other/cache"] {
            #expect(owner(file) == 0, "\(file)")
        }
    }

    @Test("one that is spared stays root's, however it is named, with all that is in it")
    func spared() throws {
        _ = unsafe mkdir("\(folder.path)/ours", 0o755)
        _ = unsafe symlink("\(folder.path)/ours", "\(folder.path)/link")
        make("ours/cache")
        for path in ["ours", "./ours/", "link"] {
            try leave("ours", ["cache"], sparing: ["\(folder.path)/missing", "\(folder.path)/\(path)"])
            #expect(owner("ours") == 0 && owner("ours/cache") == 0)
        }
        try leave("ours", sparing: [folder.path])
        #expect(owner("ours") == 4711 && owner("ours/cache") == 0)
        // The folder already belongs to the user, so root owns nothing there that it could lose.
        try leave("ours", ["cache"], sparing: ["\(folder.path)/ours"])
        #expect(owner("ours/cache") == 4711)
    }

    @Test("no link in the place of a directory is followed, and nothing changes below another user's directory")
    func planted() throws {
        _ = unsafe mkdir("\(folder.path)/victim", 0o755)
        _ = unsafe symlink("\(folder.path)/victim", "\(folder.path)/ours")
        try leave("ours")
        #expect(owner("victim") == 0)
        _ = unsafe mkdir("\(folder.path)/theirs", 0o755)
        _ = unsafe chown("\(folder.path)/theirs", 4713, 4713)
        _ = unsafe mkdir("\(folder.path)/theirs/ours", 0o755)
        try leave("theirs/ours")
        try leave("theirs/new")
        #expect(owner("theirs/ours") == 0 && owner("theirs/new") == nil)
    }
}
