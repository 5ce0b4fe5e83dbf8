// A process that ends during a write: every finished batch is in the store, and each one is whole.

import DNSWire
import Glibc
import Store
import TestSupport
import Testing

@Suite(.serialized) struct CrashTests {
    private static let entriesPerBatch = 120
    private static let maxBatches = 100_000

    /// A batch of entries. It replaces half of the previous one, so that pages are rewritten and not only added.
    private static func batch(_ number: Int) -> [StoredEntry] {
        let half = entriesPerBatch / 2
        return (0..<entriesPerBatch).map { index in
            var random = SeededRandom(seed: UInt64(number))
            let slot = index < half ? index : half + (number % 20) * half + index
            let entry = Samples.entry("slot\(slot).example", 0, using: &random)
            return entry.stored(at: Int64(number), lifetimeSeconds: UInt32(index))
        }
    }

    /// Writes batches from `first` on until the process is ended, and keeps the number of the last finished one in a
    /// file beside the store.
    private static func write(in folder: String, from first: Int) throws {
        var store = EntryStore(path: folder + "/cache.db")
        guard let progress = unsafe fopen(folder + "/progress", "w") else { exit(EXIT_FAILURE) }
        for number in first..<maxBatches {
            try store.write(batch(number), notes: ["batch": "\(number)"], nowMilliseconds: Int64(number))
            unsafe rewind(progress)
            _ = unsafe fwrite(Array(String(number).utf8) + [10], 1, String(number).utf8.count + 1, progress)
            unsafe fflush(progress)
        }
    }

    @Test("a process killed at any moment leaves every finished batch, whole", arguments: 0..<12)
    func killed(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let folder = TemporaryFolder()
        var first = 1
        for round in 0..<3 {
            let microseconds = Int.random(in: 1_000...120_000, using: &random)
            // SIGALRM's default action ends the process at once, as SIGKILL does.
            await #expect(processExitsWith: .signal(SIGALRM)) {
                [path = folder.path as String, first = first as Int, microseconds = microseconds as Int] in
                var timer = itimerval()
                timer.it_value.tv_usec = suseconds_t(microseconds)
                unsafe setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
                try CrashTests.write(in: path, from: first)
            }
            let loaded = try folder.load()
            let what = "seed \(seed), round \(round)"
            #expect(loaded.setAside.isEmpty && loaded.counts.skipped == 0, "\(what)")
            let finished = try finishedBatch(folder) ?? first - 1
            let last = Int(loaded.lastWritten ?? 0)
            #expect(last == finished || last == finished + 1, "\(what): \(last) of \(finished)")
            var store = EntryStore(path: folder.file)
            #expect(try store.notes() == (last == 0 ? [:] : ["batch": "\(last)"]), "\(what)")
            guard last > 0 else { continue }
            for entry in CrashTests.batch(last) {
                #expect(loaded.entries[EntryKey(entry)] == entry, "\(what): batch \(last) is not whole")
            }
            let half = CrashTests.entriesPerBatch / 2
            let newest = loaded.entries.values.filter { $0.storedAtMilliseconds == Int64(last) }
            #expect(newest.count == CrashTests.entriesPerBatch && loaded.entries.count <= half + 21 * half, "\(what)")
            first = last + 1
        }
    }

    private func finishedBatch(_ folder: TemporaryFolder) throws -> Int? {
        guard unsafe access(folder.path + "/progress", F_OK) == 0 else { return nil }
        let bytes = try TestFile.bytes(at: folder.path + "/progress")
        return Int(String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self))
    }
}
