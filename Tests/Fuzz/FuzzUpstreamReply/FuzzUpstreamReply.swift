// libFuzzer's way into the reader of upstream replies; without -DFUZZING, a replayer for the files it is given.

import FuzzEntries

#if FUZZING
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzEntry.upstreamReply.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
#else
@main
enum FuzzUpstreamReply {
    static func main() throws {
        try Replay.run(.upstreamReply, paths: CommandLine.arguments.dropFirst())
    }
}
#endif
