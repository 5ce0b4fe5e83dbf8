// What the fuzzers call, and what the corpus is replayed through: one entry for each parser of outside bytes. An
// entry returns whatever it is given, or stops the process: then it has found a bug.

package struct FuzzEntry: Sendable {
    /// The name of its corpus folder, and with "Fuzz" before it, of its program.
    package let name: String
    package let run: @Sendable ([UInt8]) -> Void

    package static let all = [kernelNews, query, storedAnswer, tlsFlight, upstreamReply]
}
