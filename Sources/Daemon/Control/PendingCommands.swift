// The commands that take a while. Each streams what it finds to its client.

import LinuxIO
import Serving

final class PendingCommands {
    let tests = ProviderTests()
    let probes: PendingProbes
    let queries: PendingQueries
    let fleetReports: PendingFleetReports

    init(_ resolving: ResolvingLoop, _ cache: AnswerCache) {
        (probes, queries) = (PendingProbes(resolving), PendingQueries(resolving))
        fleetReports = PendingFleetReports(resolving, cache)
    }

    var timedParts: [any TimedPart] { [tests, probes, queries, fleetReports] }
}
