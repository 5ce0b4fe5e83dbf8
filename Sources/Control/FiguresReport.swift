// What the page for people draws, as one JSON object: the counters, and what has lately happened to the network and to
// answers.

package struct FiguresReport: Encodable, Sendable {
    package let stats: StatsReport
    /// Nil: nobody watches it.
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
