// The copies of files with names that a start finds.

import LinuxIO
import Settings
import TestSupport
import Testing

@testable import Daemon

@Suite("Last good files")
struct LastGoodFilesTests {
    private let folder = TemporaryFolder()

    private func copies() throws -> LastGoodFiles {
        var settings = Settings.defaults
        settings.cache.store = folder("cache.db")
        return try #require(LastGoodFiles(settings))
    }

    private func write(_ text: String, to name: String) -> String {
        folder.write(Array(text.utf8), to: folder(name))
        return folder(name)
    }

    private func read(_ path: String?) -> String? {
        path.flatMap { try? TextFile.read($0, maxBytes: 1000) }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("a copy has the file's bytes, stays while the file has a fault, and goes with its setting")
    func renewed() throws {
        let copies = try copies()
        let (one, other) = (write("1", to: "a%2Fb"), write("2", to: "b"))
        copies.renew([one, other], keeping: [])
        #expect(read(copies.copy(of: one)) == "1" && read(copies.copy(of: other)) == "2")
        #expect(copies.paths(in: folder.path + "/") == [one, other])
        _ = write("3", to: "b")
        copies.renew([one], keeping: [other])
        #expect(read(copies.copy(of: other)) == "2")
        copies.renew([other], keeping: [])
        #expect(read(copies.copy(of: other)) == "3" && read(copies.copy(of: one)) == nil)
    }

    @Test("there are no copies without a store, and none of a path that is too long for a name")
    func without() throws {
        var settings = Settings.defaults
        settings.cache.store = nil
        #expect(LastGoodFiles(settings) == nil)
        #expect(try copies().copy(of: "/" + String(repeating: "x", count: 253)) == nil)
    }
}
