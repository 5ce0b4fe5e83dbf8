// libFuzzer's way into the reader of stored answers; without -DFUZZING, a replayer for the files it is given.

import FuzzEntries

#if FUZZING
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzEntry.storedAnswer.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
#else
@main
enum FuzzStoredAnswer {
    static func main() throws {
        try Replay.run(.storedAnswer, paths: CommandLine.arguments.dropFirst())
    }
}
#endif
