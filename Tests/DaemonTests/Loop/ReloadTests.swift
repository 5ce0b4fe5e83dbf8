// Reloads: the settings file, its lists, and the clients that wait for the result.

import DNSWire
import LinuxIO
import Settings
import TestSupport
import Testing

@testable import Daemon

@Suite("Reload")
struct ReloadTests {
    private let folder = TemporaryFolder()
    private let loop: EventLoop
    private let lists: NameLists
    private let reload: Reload

    init() throws {
        loop = try EventLoop()
        lists = try NameLists(loop: loop, outbox: Outbox())
        folder.write(Array("prefetch.names = [\"old.example\"]\n".utf8), to: folder("httpdnsd.toml"))
        let options = try Options(["--config", folder("httpdnsd.toml")])
        let settings = try SettingsFile.read(options)
        reload = Reload(settings, try LoadedSecrets(for: settings, options), options, nil, lists, atWall: 1)
    }

    private func write(_ text: String) { folder.write(Array(text.utf8), to: folder("httpdnsd.toml")) }

    private var names: [String] { reload.settings.prefetch.names.map(\.description) }

    /// Runs the loop until a batch of lists was read.
    private func batch() throws -> NameLists.Batch {
        let deadline = Clock.now() + .seconds(20)
        while Clock.now() < deadline {
            try loop.turn(until: deadline)
            if let (batch, _) = lists.takeBatch(requested: reload.batch) { return batch }
        }
        throw CancellationError()
    }

    @Test("new settings are applied once, and all that wait are told the result")
    func inForce() throws {
        var (told, applied) = (0, 0)
        write("prefetch.names = [\"new.example\"]\n")
        for _ in 0..<2 { #expect(reload.begin { if case .success = $0 { told += 1 } } == nil) }
        #expect(names == ["old.example"])
        var result: Reload.Result?
        while result == nil {
            let batch = try batch()
            result = reload.take(batch, now: 7) { applied += 1 }
            lists.finish(batch, nil)
        }
        #expect(names == ["new.example"] && applied == 1 && reload.settingsAtWall == 7 && reload.batch == nil)
        reload.end(try #require(result))
        reload.end(try #require(result))
        #expect(told == 2)
    }

    @Test("a file with a fault changes nothing, and ends the reload that waits for its lists")
    func fault() throws {
        write("prefetch.names = [\"new.example\"]\n")
        #expect(reload.begin { _ in } == nil)
        write("prefetch.names = 1\n")
        var refused = 0
        let fault = try #require(reload.begin { if case .failure = $0 { refused += 1 } })
        #expect(fault.complaints.count == 1 && reload.batch == nil)
        reload.end(.failure(fault))
        let batch = try batch()
        #expect(reload.take(batch, now: 7) { Issue.record("it was ended") } == nil)
        lists.finish(batch, nil)
        #expect(names == ["old.example"] && reload.settingsAtWall == 1 && refused == 1)
    }

    @Test("a list that can't be read and was never in force refuses the reload")
    func missingList() throws {
        write("prefetch.names = [\"new.example\"]\n[[rule]]\nmatch-file = [\"\(folder("missing"))\"]\nstale = false\n")
        #expect(reload.begin { _ in } == nil)
        let batch = try batch()
        let result = try #require(reload.take(batch, now: 7) { Issue.record("it was refused") })
        lists.finish(batch, nil)
        #expect(throws: UnusableSettings.self) { try result.get() }
        #expect(names == ["old.example"] && reload.batch == nil)
    }
}
