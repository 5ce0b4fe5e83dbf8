// The entries for fuzzers and the replay of their corpus: one for each parser of untrusted bytes. An entry returns for
// any input; if it stops the process, it has found a bug.

import LinuxIO

package struct FuzzEntry: Sendable {
    /// The name of its corpus folder.
    package let name: String
    package let run: @Sendable ([UInt8]) -> Void

    package static let all = [
        dnsStamp, flightFile, httpReply, json, kernelNews, localNames, proxyReply, query, setMessage, storedAnswer,
        tlsFlight, upstreamReply,
    ]

    /// The entry that the environment variable names, for a program that runs one of them.
    package static var chosen: FuzzEntry {
        let name = Environment.value(of: "FUZZ_ENTRY") ?? ""
        guard let entry = all.first(where: { $0.name == name }) else {
            preconditionFailure("FUZZ_ENTRY is one of \(all.map(\.name))")
        }
        return entry
    }
}
