// The entry point for libFuzzer: it calls the parser that the environment variable names (FUZZ_ENTRY=Query). Without
// -DFUZZING, it replays the given files.

import FuzzEntries

#if FUZZING
private let entry = FuzzEntry.chosen

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    entry.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
#else
@main
enum Fuzz {
    static func main() throws {
        try Replay.run(.chosen, paths: CommandLine.arguments.dropFirst())
    }
}
#endif
