// What came of reading the settings again.

package struct ReloadReport: Codable, Equatable, Sendable {
    /// Settings that differ from those in force, and hold after a restart only.
    package let needRestart: [String]

    package init(needRestart: [String]) {
        self.needRestart = needRestart
    }

    package enum CodingKeys: String, CodingKey {
        case needRestart = "need_restart"
    }

    package var text: String {
        needRestart.isEmpty
            ? "settings reloaded" : "settings reloaded; a restart is needed for \(needRestart.joined(separator: ", "))"
    }
}
