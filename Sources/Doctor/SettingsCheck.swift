// What the daemon would say of its settings before it starts.

package struct SettingsCheck: Sendable {
    /// In the daemon's words: file, line, column, finding, remedy.
    package let complaints: [String]
    package let path: String

    package init(complaints: [String], path: String) {
        self.complaints = complaints
        self.path = path
    }

    /// A screenful is for `httpdnsd --check`.
    private static let maxShown = 5

    package var findings: [Finding] {
        let omitted = complaints.count - SettingsCheck.maxShown
        return complaints.prefix(SettingsCheck.maxShown).map { complaint in
            Finding(
                .fault, .settings, complaint,
                remedy: "httpdnsd --check --config \(path) shows all" + (omitted > 0 ? " (\(omitted) more)" : ""))
        }
    }
}
