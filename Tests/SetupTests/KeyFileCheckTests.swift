// Paths for a key file: existing files and missing ones.

import Testing

@testable import LinuxIO
@testable import httpdnsctl

@Suite("The place of a key")
struct KeyFileCheckTests {
    private static let daemon = FileCheck.User(name: "httpdnsd", id: 990, groups: [990])
    private static let root = FileCheck.User(name: "uid 0", id: 0, groups: [0])
    private static let user = FileCheck.User(name: "uid 1000", id: 1000, groups: [1000])

    private static func directory(_ mode: UInt32 = 0o755, owner: UInt32 = 0) -> FileStatus {
        FileStatus(isDirectory: true, isRegular: false, size: 4096, ownerID: owner, groupID: owner, mode: mode)
    }

    private static func file(
        _ mode: UInt32, owner: UInt32 = 990, isRegular: Bool = true, size: Int = 1
    ) -> FileStatus {
        FileStatus(isDirectory: false, isRegular: isRegular, size: size, ownerID: owner, groupID: owner, mode: mode)
    }

    /// - Parameter steps: the files on the path below the root.
    private func verdict(
        _ path: String, _ steps: [FileStatus?], daemon: FileCheck.User? = daemon, caller: FileCheck.User = root,
        isWritable: Bool = true
    ) -> SetupMachine.KeyFile {
        let place = FileCheck.Place(
            path: path, purpose: .secret("key-file"), steps: [KeyFileCheckTests.directory()] + steps)
        return KeyFileCheck(place: place, daemon: daemon, caller: caller, isWritable: isWritable).verdict
    }

    @Test("a file that the daemon can read")
    func existing() {
        let directory = Self.directory()
        #expect(verdict("/d/k", [directory, Self.file(0o600)]) == .usable)
        #expect(
            verdict("/d/k", [directory, Self.file(0o644)])
                == .fault("/d/k (key-file) is accessible to all users; remedy: chmod o= /d/k"))
        #expect(
            verdict("/d/k", [directory, Self.file(0o600, owner: 0)])
                == .fault(
                    "/d/k (key-file) can't be read by httpdnsd; remedy: chgrp httpdnsd /d/k; chmod g+r /d/k"))
        #expect(
            verdict("/d/k", [Self.directory(0o700), Self.file(0o600)])
                == .fault("httpdnsd can't search /d to reach /d/k; remedy: chmod +x /d"))
        #expect(verdict("/d", [directory]) == .fault("/d is a directory; a key has a file of its own"))
    }

    @Test("a file that cannot hold a key, or holds none")
    func unusable() {
        let empty = Self.file(0o600, size: 0)
        #expect(verdict("/k", [empty]) == .fault("/k is empty; put the key into it, or remove it"))
        let special = Self.file(0o600, isRegular: false, size: 0)
        #expect(verdict("/k", [special]) == .fault("/k is not a regular file; put the key into one"))
    }

    @Test("the remedy for a caller without an account is a command")
    func callerWithoutName() {
        let caller = FileCheck.User(name: "uid 4321", id: 4321, groups: [100], group: "100")
        for (owner, remedy) in [(0, "chgrp 100 /d/k; chmod g+r /d/k"), (4321, "chmod u+r /d/k")] as [(UInt32, String)] {
            #expect(
                verdict(
                    "/d/k", [Self.directory(0o755), Self.file(0o200, owner: owner)], daemon: nil, caller: caller)
                    == .fault("/d/k (key-file) can't be read by uid 4321; remedy: \(remedy)"))
        }
    }

    @Test("without the daemon's user, root and the caller read the key")
    func withoutUser() {
        let file = Self.file(0o600, owner: 1000)
        #expect(verdict("/k", [file], daemon: nil) == .usable)
        #expect(verdict("/k", [file], daemon: nil, caller: Self.user) == .usable)
        #expect(verdict("/k", [nil], daemon: nil, caller: Self.user) == .missing)
        #expect(
            verdict("/k", [nil], daemon: nil)
                == .fault(
                    """
                    /k does not exist, and neither does the user httpdnsd, who must own it; \
                    install httpdnsd first, or name an existing file
                    """))
    }

    @Test("a new file in a directory that exists, or below it")
    func missing() {
        let directory = Self.directory()
        #expect(verdict("/d/k", [directory, nil]) == .missing)
        #expect(verdict("/d/e/k", [directory, nil, nil]) == .missing)
        #expect(verdict("/k", [nil]) == .missing)
    }

    @Test("a new file that cannot be written, or that the daemon could not read")
    func refused() {
        let other = "name a file in another directory, such as /etc/httpdnsd"
        let cases: [(SetupMachine.KeyFile, LocalizedText)] = [
            (verdict("/a/b/k", [nil, nil, nil]), "/a does not exist; create it first, or \(other)"),
            (
                verdict("/d/e/f/k", [Self.directory(), nil, nil, nil]),
                "/d/e does not exist; create it first, or \(other)"
            ),
            (verdict("/f/k", [Self.file(0o644), nil]), "/f is not a directory; name another file"),
            (verdict("/d/", [nil]), "/d/ ends with \"/\"; name a file"),
            (verdict("/d/e/", [Self.directory(), nil]), "/d/e/ ends with \"/\"; name a file"),
            (
                verdict("/shut/k", [Self.directory(0o700), nil]),
                "httpdnsd can't search /shut to reach /shut/k; \(other)"
            ),
            (verdict("/d/k", [Self.directory(), nil], isWritable: false), "uid 0 can't write into /d; \(other)"),
            (
                verdict("/d/k", [Self.directory(owner: 1000), nil], caller: Self.user),
                "/d/k does not exist, and httpdnsd can't read a key that uid 1000 writes; run setup with sudo"
            ),
        ]
        for (verdict, reason) in cases { #expect(verdict == .fault(reason)) }
    }
}
