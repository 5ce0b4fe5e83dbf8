// The data of the status page without names, as one JSON object: the counters and recent network changes.

package struct FiguresReport: DataReport {
    package let stats: StatsReport
    /// The network in use; nil if the network is not monitored.
    package let network: NetworkReport.Current?
    /// The recent network changes, the oldest first.
    package let changes: [NetworkHistoryReport.Change]

    package init(
        stats: StatsReport, network: NetworkReport.Current?, changes: [NetworkHistoryReport.Change]
    ) {
        self.stats = stats
        self.network = network
        self.changes = changes
    }
}
