// What a fuzzer's program does when it is built without the fuzzer: it replays files, crashes and corpora alike.

import TestSupport

package enum Replay {
    /// - Parameter paths: files, each given to the entry once.
    package static func run(_ entry: FuzzEntry, paths: some Sequence<String>) throws {
        for path in paths {
            entry.run(try TestFile.bytes(at: path))
            print("\(path): ok")
        }
    }
}
