// The result of `reload`.

package struct ReloadReport: Report, Codable, Equatable {
    /// Changed settings that take effect only after a restart.
    package let needRestart: [String]
    /// Complaints about lists of names, whose last good contents stay in force; nil if there are none.
    package var keptLists: [String]?

    package init(needRestart: [String]) {
        self.needRestart = needRestart
    }

    package enum CodingKeys: String, CodingKey {
        case needRestart = "need_restart"
        case keptLists = "kept_lists"
    }

    package var text: String { sentence + "\n" }

    package var sentence: String {
        let restart = needRestart.isEmpty ? "" : "; a restart is needed for \(needRestart.joined(separator: ", "))"
        let kept = (keptLists ?? []).map { "\n\($0)" }.joined()
        return "settings reloaded\(restart)" + (kept.isEmpty ? "" : "; these lists stay as they were:\(kept)")
    }
}

/// The answer to `reload --json` if the settings or the request were refused.
package struct ReloadRefusal: DataReport, Codable, Equatable {
    let error: String
    /// Complaints about the settings; nil if the request itself was refused.
    let findings: [String]?

    /// Whether the daemon has read the settings and found errors. It may refuse the request itself instead.
    package var isOfSettings: Bool { findings != nil }

    package var reasons: [String] { findings ?? [error] }
}
