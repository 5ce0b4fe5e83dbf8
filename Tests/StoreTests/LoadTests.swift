// The time of a start. The goal is 100,000 entries in under 300 ms in a release build; a debug build only shows that
// loading works.

import DNSWire
import Store
import TestSupport
import Testing

@Suite(.serialized) struct LoadTests {
    @Test("a large store is loaded whole, and how fast")
    func large() throws {
        #if DEBUG
        let count = 2_000
        #else
        let count = 100_000
        #endif
        let folder = TemporaryFolder()
        var store = EntryStore(path: folder.file)
        let entries = Samples.entries(count, prefix: "host-with-a-usual-name")
        let clock = ContinuousClock()
        let writing = try clock.measure { try store.write(entries, nowMilliseconds: 0) }
        store.close()
        var sum = 0
        var loaded = 0
        let loading = try clock.measure {
            loaded = try store.load(atMost: count) { entry, _ in sum += entry.answer.body.count }.entries
        }
        #expect(loaded == count && sum == entries.reduce(0) { $0 + $1.answer.body.count })
        let bytes = try TestFile.bytes(at: folder.file).count
        print("store: \(count) entries, \(bytes / count) bytes each, written in \(writing), loaded in \(loading)")
        let pruning = try clock.measure { _ = try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: count / 2) }
        print("store: half of them pruned in \(pruning)")
    }
}
