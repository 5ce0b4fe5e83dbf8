// The changes of files that a watch notices.

import Glibc
import Testing

@testable import LinuxIO

struct FileWatchTests {
    private let directory = TemporaryDirectory()

    @Test func `writing in place, renaming over and removing are noticed, and told once`() throws {
        directory.write("1", to: "conf")
        let watch = try FileWatch([directory("conf")])
        #expect(try watch.takeChangedPaths() == [])
        directory.write("2", to: "conf")
        #expect(becomesReady(watch.descriptor))
        #expect(try watch.takeChangedPaths() == [directory("conf")])
        #expect(try watch.takeChangedPaths() == [])
        directory.write("3", to: "conf.new")
        directory.move("conf.new", over: "conf")
        #expect(try watch.takeChangedPaths() == [directory("conf")])
        directory.write("4", to: "conf")
        #expect(try watch.takeChangedPaths() == [directory("conf")])
        unsafe unlink(directory("conf"))
        #expect(try watch.takeChangedPaths() == [directory("conf")])
    }

    @Test func `a file that its writer keeps open is reported only if writes are asked for`() throws {
        directory.write("1", to: "leases")
        let watches = try [false, true].map { try FileWatch([directory("leases")], seesWrites: $0) }
        let file = unsafe open(directory("leases"), O_WRONLY | O_APPEND)
        defer { close(file) }
        #expect(unsafe write(file, "2", 1) == 1)
        #expect(try watches.map { try $0.takeChangedPaths() } == [[], [directory("leases")]])
    }

    @Test func `a file that a hard link puts in place is noticed, one that is being written is not`() throws {
        let watch = try FileWatch([directory("conf")])
        for removesFirst in [true, false] {
            directory.write("1", to: "conf.new")
            #expect(unsafe link(directory("conf.new"), directory("conf")) == 0)
            if removesFirst { unsafe unlink(directory("conf.new")) }
            #expect(try watch.takeChangedPaths() == [directory("conf")])
            unsafe unlink(directory("conf.new"))
            unsafe unlink(directory("conf"))
            _ = try watch.takeChangedPaths()
        }
        let file = unsafe open(directory("conf"), O_WRONLY | O_CREAT, 0o600)
        #expect(try watch.takeChangedPaths() == [])
        close(file)
        #expect(try watch.takeChangedPaths() == [directory("conf")])
    }

    @Test func `neighbours are not reported`() throws {
        directory.write("1", to: "conf")
        directory.write("1", to: "other")
        let watch = try FileWatch([directory("conf"), directory("missing")])
        directory.write("2", to: "other")
        directory.write("2", to: "conf.swp")
        #expect(try watch.takeChangedPaths() == [])
        directory.write("1", to: "missing")
        #expect(try watch.takeChangedPaths() == [directory("missing")])
    }

    @Test func `a change behind a chain of links is noticed`() throws {
        directory.makeDirectory("run")
        directory.makeDirectory("etc")
        directory.write("1", to: "run/stub")
        directory.link("run/conf", to: "stub")
        directory.link("etc/conf", to: "../run/conf")
        let path = directory("etc/conf")
        let watch = try FileWatch([path])
        directory.write("2", to: "run/new")
        directory.move("run/new", over: "run/stub")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("3", to: "run/other")
        #expect(try watch.takeChangedPaths() == [])
        directory.link("etc/conf.new", to: "../run/other")
        directory.move("etc/conf.new", over: "etc/conf")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("4", to: "run/other")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("4", to: "run/stub")
        #expect(try watch.takeChangedPaths() == [], "no longer on the way")
    }

    @Test func `a linked directory that is switched is noticed`() throws {
        directory.makeDirectory("v1")
        directory.makeDirectory("v2")
        directory.write("1", to: "v1/conf")
        directory.write("2", to: "v2/conf")
        directory.link("current", to: "v1")
        let path = directory("current/conf")
        let watch = try FileWatch([path])
        directory.link("next", to: "v2")
        directory.move("next", over: "current")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("3", to: "v2/conf")
        #expect(try watch.takeChangedPaths() == [path])
    }

    @Test func `directories that are missing, come, go and come again are followed`() throws {
        let path = directory("a/b/conf")
        let watch = try FileWatch([path])
        directory.makeDirectory("a")
        #expect(try watch.takeChangedPaths() == [path])
        directory.makeDirectory("a/b")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("1", to: "a/b/conf")
        #expect(try watch.takeChangedPaths() == [path])
        directory.move("a/b", over: "a/gone")
        #expect(try watch.takeChangedPaths() == [path])
        directory.makeDirectory("a/b")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("2", to: "a/b/conf")
        #expect(try watch.takeChangedPaths() == [path])
    }

    @Test func `a directory stands for the files in it, also before it is there`() throws {
        let path = directory("d/")
        let watch = try FileWatch([path, directory("other")])
        directory.makeDirectory("d")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("1", to: "d/eth0")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("2", to: "d/eth0")
        #expect(try watch.takeChangedPaths() == [path])
        unsafe unlink(directory("d/eth0"))
        #expect(try watch.takeChangedPaths() == [path])
        directory.makeDirectory("d/below")
        #expect(try watch.takeChangedPaths() == [path])
        directory.write("1", to: "d/below/eth0")
        #expect(try watch.takeChangedPaths() == [], "not what is further down")
        directory.write("1", to: "beside")
        #expect(try watch.takeChangedPaths() == [])
    }

    @Test func `links that lead in a circle end`() throws {
        directory.link("one", to: "two")
        directory.link("two", to: "one")
        let watch = try FileWatch([directory("one")])
        unsafe unlink(directory("two"))
        #expect(try watch.takeChangedPaths() == [directory("one")])
        directory.write("1", to: "two")
        #expect(try watch.takeChangedPaths() == [directory("one")])
    }

    @Test func `a path leads through its links to its file`() {
        directory.makeDirectory("d")
        directory.link("l", to: "./d/../d//conf")
        let entries = SymbolicLinks.entries(of: directory("l"))
        #expect(
            entries == [
                DirectoryEntry(directory: directory.path, name: "l"),
                DirectoryEntry(directory: directory("d"), name: "conf"),
            ])
    }

    @Test func `in a directory, only regular files with used names are reported`() throws {
        directory.write("1", to: "old")
        let folder = directory.path + "/"
        let watch = try FileWatch([folder, directory("old")], isUsed: { !$0.hasPrefix(".") && !$0.hasSuffix("~") })
        directory.write("1", to: ".a.swp")
        directory.write("1", to: "a~")
        #expect(unsafe mkfifo(directory("fifo"), 0o600) == 0)
        #expect(unsafe mkdir(directory("folder"), 0o700) == 0)
        unsafe unlink(directory("fifo"))
        unsafe rmdir(directory("folder"))
        unsafe unlink(directory("a~"))
        #expect(unsafe symlink("missing", directory("link")) == 0)
        #expect(try watch.takeChangedPaths() == [])
        directory.write("1", to: "new")
        #expect(try watch.takeChangedPaths() == [folder])
        unsafe unlink(directory("old"))
        #expect(try watch.takeChangedPaths() == [directory("old")])
    }
}
