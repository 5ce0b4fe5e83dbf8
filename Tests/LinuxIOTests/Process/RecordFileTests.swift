// Record files: writing one keeps the former one beside it.

import Testing

@testable import LinuxIO

struct RecordFileTests {
    @Test("a second file takes the place of the first, which is kept with .1 at its end")
    func former() throws {
        let directory = TemporaryDirectory()
        for text in ["first", "second", "third"] {
            let file = unsafe RecordFile(path: directory("r.bin"), header: Array(text.utf8), parts: [])
            try file.write()
        }
        let read = { (name: String) throws in
            try TextFile.read(directory(name), maxBytes: 100).dropLast(RecordFile.momentBytes)
        }
        #expect(try read("r.bin").elementsEqual("third".utf8) && read("r.bin.1").elementsEqual("second".utf8))
    }
}
