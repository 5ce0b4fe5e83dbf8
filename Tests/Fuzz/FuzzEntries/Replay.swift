// The program of a fuzzer that is built without libFuzzer: it replays files, crashes and corpora.

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
