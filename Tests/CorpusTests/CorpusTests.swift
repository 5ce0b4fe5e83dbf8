// Replays every fuzzer's corpus through the function that the fuzzer calls, so that a fixed fault of a parser stays
// fixed.

import FuzzEntries
import TestSupport
import Testing

struct CorpusTests {
    @Test("every file of every corpus is read without a trap", arguments: FuzzEntry.all)
    func replay(entry: FuzzEntry) throws {
        let folder = TestFile.folder(of: TestFile.folder(of: #filePath)) + "/Fuzz/Corpus/" + entry.name
        let names = try TestFile.names(in: folder)
        #expect(!names.isEmpty, "an entry without a corpus tests nothing")
        for name in names { entry.run(try TestFile.bytes(at: folder + "/" + name)) }
    }
}
