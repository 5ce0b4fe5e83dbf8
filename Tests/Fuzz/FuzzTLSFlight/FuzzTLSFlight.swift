// libFuzzer's way into a TLS handshake; without -DFUZZING, a replayer for the files it is given.

import FuzzEntries

#if FUZZING
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzEntry.tlsFlight.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
#else
@main
enum FuzzTLSFlight {
    static func main() throws {
        try Replay.run(.tlsFlight, paths: CommandLine.arguments.dropFirst())
    }
}
#endif
