// What the fuzzers call, and what the corpus is replayed through: one entry for each parser of outside bytes. An
// entry returns whatever it is given, or stops the process: then it has found a bug.

import LinuxIO

package struct FuzzEntry: Sendable {
    /// The name of its corpus folder.
    package let name: String
    package let run: @Sendable ([UInt8]) -> Void

    package static let all = [
        flightFile, kernelNews, localNames, query, setMessage, storedAnswer, tlsFlight, upstreamReply,
    ]

    /// For a program that is run for one of them.
    package static var chosen: FuzzEntry {
        let name = Environment.value(of: "FUZZ_ENTRY") ?? ""
        guard let entry = all.first(where: { $0.name == name }) else {
            preconditionFailure("FUZZ_ENTRY is one of \(all.map(\.name))")
        }
        return entry
    }
}
