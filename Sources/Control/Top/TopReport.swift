// One poll for `top`: the counters, from which two polls give rates, and the most queried names.

package struct TopReport: Report, Codable, Equatable {
    package var schema = 1
    /// The time in milliseconds since 1970.
    package var milliseconds: Int64
    /// The time in milliseconds since boot. The interval between two polls is computed from it, because the wall clock
    /// may be set between them.
    package var bootMilliseconds: Int64
    package var stats: StatsReport
    /// The most queried names, highest rate first, at most `maxHottest`.
    package var hottest: [HotName] = []
    /// The network in use; nil if the network is not monitored.
    package var network: NetworkReport.Current?
    /// Why a captive portal is suspected; nil if none is.
    package var portal: String? {
        didSet { portal = portal?.shown(maxBytes: TopReport.maxPortalBytes) }
    }
    /// The switches that are off.
    package var switches: [SwitchReport] = []

    /// Maximum number of names: one screen.
    package static let maxHottest = 20
    private static let maxPortalBytes = 300

    package init(milliseconds: Int64, bootMilliseconds: Int64, stats: StatsReport) {
        self.milliseconds = milliseconds
        self.bootMilliseconds = bootMilliseconds
        self.stats = stats
    }

    package enum CodingKeys: String, CodingKey {
        case schema, stats, hottest, network, portal, switches
        case milliseconds = "time_ms"
        case bootMilliseconds = "boot_ms"
    }

    package struct HotName: Codable, Equatable, Sendable {
        package let name: String
        package let type: String
        /// Queries per second, estimated over the last minutes.
        package let perSecond: Double

        /// The name is untrusted: clients and web pages choose it.
        package init(name: String, type: String, perSecond: Double) {
            self.name = name.shown(maxBytes: HotName.maxNameBytes)
            self.type = type
            self.perSecond = (perSecond * 1000).rounded() / 1000
        }

        /// Maximum size of a name: the longest one with each of its bytes escaped.
        private static let maxNameBytes = 1_100

        package enum CodingKeys: String, CodingKey {
            case name, type
            case perSecond = "per_second"
        }
    }
}
