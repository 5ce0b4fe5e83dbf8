// The reports of upstreams, kept until the test takes them.

import Resolver

@testable import Upstreams

final class KeptReports: UpstreamOutbox {
    private var outputs: [UpstreamOutput] = []

    func report(_ output: UpstreamOutput) { outputs.append(output) }

    /// Returns the reports since the last call.
    func takeAll() -> [UpstreamOutput] {
        defer { outputs = [] }
        return outputs
    }
}
