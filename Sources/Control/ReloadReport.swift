// The result of `reload`.

package struct ReloadReport: Codable, Equatable, Sendable {
    /// Changed settings that take effect only after a restart.
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
