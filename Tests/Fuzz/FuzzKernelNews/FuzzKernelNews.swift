// libFuzzer's way into the kernel's news; without -DFUZZING, a replayer for the files it is given.

import FuzzEntries

#if FUZZING
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzEntry.kernelNews.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
#else
@main
enum FuzzKernelNews {
    static func main() throws {
        try Replay.run(.kernelNews, paths: CommandLine.arguments.dropFirst())
    }
}
#endif
