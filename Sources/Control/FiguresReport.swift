// The data of the status page as one JSON object: the counters, and recent network changes and forgery evidence.

package struct FiguresReport: Encodable, Sendable {
    package let stats: StatsReport
    /// Nil if the network is not monitored.
    package let network: NetworkReport.Current?
    /// The oldest first.
    package let changes: [NetworkHistoryReport.Change]
    /// The oldest first.
    package let evidence: [EvidenceReport]

    package init(
        stats: StatsReport, network: NetworkReport.Current?, changes: [NetworkHistoryReport.Change],
        evidence: [EvidenceReport]
    ) {
        self.stats = stats
        self.network = network
        self.changes = changes
        self.evidence = evidence
    }
}
