// One look at the daemon, for a screen that is drawn again and again: counts from which two looks make rates, and what
// is in use most.

package struct TopReport: Codable, Equatable, Sendable {
    package var schema = 1
    /// Since 1970.
    package var milliseconds: Int64
    /// Since boot: what two looks are apart, whoever sets the clock between them.
    package var bootMilliseconds: Int64
    package var stats: StatsReport
    /// The most asked first, at most `maxHottest`.
    package var hottest: [HotName] = []
    /// Nil: nobody watches the network.
    package var network: NetworkReport.Current?
    /// Nil while none is suspected.
    package var portal: String? {
        didSet { portal = portal?.shown(maxBytes: TopReport.maxPortalBytes) }
    }
    /// Those that are off.
    package var switches: [SwitchReport] = []

    /// A screenful.
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
        /// How often it is asked, estimated from the last minutes.
        package let perSecond: Double

        /// Names come from clients, or through them from anybody.
        package init(name: String, type: String, perSecond: Double) {
            self.name = name.shown(maxBytes: HotName.maxNameBytes)
            self.type = type
            self.perSecond = (perSecond * 1000).rounded() / 1000
        }

        /// The longest name, each of its bytes escaped.
        private static let maxNameBytes = 1_100

        package enum CodingKeys: String, CodingKey {
            case name, type
            case perSecond = "per_second"
        }
    }

    /// Of a daemon's answer; nil for what is none, or one of another version.
    package init?(json: [UInt8]) {
        guard let report: TopReport = decoded(String(decoding: json, as: UTF8.self)) else { return nil }
        self = report
    }

    /// As plain text, for what is no terminal: of the time between two looks, or of one look alone.
    package func text(since earlier: TopReport?) -> String {
        let size = TopScreen.Size(columns: TopScreen.plainColumns)
        return TopScreen(self, since: earlier).lines(size).map { "\($0)\n" }.joined()
    }
}
