// Full disks, files that other programs lock, folders without permission: a clear failure, no partial write, and
// recovery as soon as the cause is gone. Tests that change a whole process run in a process of their own.

import DNSWire
import Glibc
import TestSupport
import Testing

@testable import Store

struct FailureTests {
    private let folder = TemporaryFolder()
    private let entries = Samples.entries(50)

    @Test("a second daemon gets a clear failure, and the file when the first one is gone")
    func secondDaemon() throws {
        var second = EntryStore(path: folder.file)
        do {
            var first = EntryStore(path: folder.file)
            try first.write(entries, nowMilliseconds: 0)
            #expect(throws: StoreFailure.locked) { _ = try Loaded(&second) }
            #expect(throws: StoreFailure.locked) { try second.write(entries, nowMilliseconds: 0) }
            try first.write([], removing: [.everything], nowMilliseconds: 0)
            try first.write(entries, nowMilliseconds: 0)
        }
        #expect(try Loaded(&second).entries.count == entries.count)
        #expect(!folder.names.contains { $0.contains("aside") })
    }

    @Test("an open write transaction of sqlite3 locks the store only until it ends")
    func writingElsewhere() throws {
        var store = EntryStore(path: folder.file)
        try store.write(entries, nowMilliseconds: 0)
        let other = try Database(path: folder.file)
        try other.run("BEGIN EXCLUSIVE")
        #expect(throws: StoreFailure.locked) { try store.write([], removing: [.everything], nowMilliseconds: 0) }
        #expect(try Loaded(&store).entries.count == entries.count)
        try other.run("ROLLBACK")
        try store.write([], removing: [.everything], nowMilliseconds: 0)
        #expect(try Loaded(&store).entries.isEmpty)
    }

    @Test("an open read transaction of sqlite3 cannot make the log grow without bound")
    func readingElsewhere() throws {
        var store = EntryStore(path: folder.file, bounds: StoreBounds(maxLogBytes: 1 << 20))
        try store.write(entries, nowMilliseconds: 0)
        let other = try Database(path: folder.file)
        try other.run("BEGIN; SELECT count(*) FROM entries")
        let many = Samples.entries(1_000)
        var written = 0
        let failure = #expect(throws: StoreFailure.self) {
            while written < 100 {
                try store.write(many, nowMilliseconds: 0)
                written += 1
            }
        }
        #expect(failure == .locked && written > 1)
        #expect(try TestFile.bytes(at: folder.file + "-wal").count < 3 << 20)
        try other.run("COMMIT")
        try store.write(many, nowMilliseconds: 0)
        #expect(try Loaded(&store).entries.count == many.count)
    }

    @Test("a file as large as it may become takes new entries when old ones are gone")
    func fileBound() throws {
        var store = EntryStore(path: folder.file, bounds: StoreBounds(maxFileBytes: 1 << 20))
        let many = Samples.entries(20_000)
        #expect(throws: StoreFailure.full) { try store.write(many, nowMilliseconds: 0) }
        #expect(try Loaded(&store).entries.isEmpty)
        try store.write(Array(many.prefix(3_000)), nowMilliseconds: 0)
        #expect(throws: StoreFailure.full) { try store.write(Array(many[3_000..<8_000]), nowMilliseconds: 0) }
        #expect(try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: 10) == 2_990)
        try store.write(Array(many[3_000..<6_000]), nowMilliseconds: 0)
        #expect(try Loaded(&store).entries.count == 3_010)
    }

    @Test("a full disk refuses a batch whole, and the next one is written when there is space")
    func fullDisk() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            var store = EntryStore(path: folder.file)
            let few = Samples.entries(50)
            let many = Samples.entries(20_000, prefix: "many")
            try store.write(few, nowMilliseconds: 1)
            // The kernel's error EFBIG, like ENOSPC, comes during a write.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = 1 << 20
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            for _ in 0..<3 {
                #expect(throws: StoreFailure.full) {
                    try store.write(many, removing: [.everything], nowMilliseconds: 2)
                }
            }
            #expect(try Loaded(&store).entries.count == few.count)
            #expect(try Loaded(&store).lastWritten == 1)
            limit.rlim_cur = before
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            try store.write(many, nowMilliseconds: 3)
            #expect(try Loaded(&store).entries.count == few.count + many.count)
            #expect(store.takeSetAside().isEmpty)
        }
    }

    @Test("a folder or a file that is not ours to write is a clear failure")
    func notOurs() async throws {
        let elsewhere = TemporaryFolder()
        do {
            var store = EntryStore(path: folder.file)
            try store.write(entries, nowMilliseconds: 0)
            store.close()
        }
        #expect(unsafe chmod(elsewhere.path, 0o555) == 0 && chmod(folder.file, 0o400) == 0)
        if geteuid() == 0 {
            #expect(unsafe chmod(folder.path, 0o777) == 0 && chmod(folder.file + ".lock", 0o666) == 0)
        }
        let paths = [folder.file, elsewhere.file]
        await #expect(processExitsWith: .success) { [paths = paths as [String]] in
            // Root may write everywhere.
            if geteuid() == 0 { #expect(setuid(65_534) == 0) }
            for path in paths {
                var store = EntryStore(path: path)
                let failure = #expect(throws: StoreFailure.self) { try store.write([], nowMilliseconds: 0) }
                #expect(failure == .forbidden("open: Permission denied"))
            }
            var store = EntryStore(path: paths[1] + "/none/cache.db")
            #expect(throws: StoreFailure.forbidden("open: No such file or directory")) { _ = try Loaded(&store) }
        }
    }
}
