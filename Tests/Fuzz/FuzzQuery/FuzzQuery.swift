// libFuzzer's way into the fast path; without -DFUZZING, a replayer for the files it is given.

import FuzzEntries

#if FUZZING
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzEntry.query.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
#else
@main
enum FuzzQuery {
    static func main() throws {
        try Replay.run(.query, paths: CommandLine.arguments.dropFirst())
    }
}
#endif
