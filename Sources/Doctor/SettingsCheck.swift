// Reports the errors that the daemon would find in its settings at startup.

package struct SettingsCheck: Sendable {
    /// The daemon's error messages: file, line, column, error, remedy.
    package let complaints: [String]
    package let path: String

    package init(complaints: [String], path: String) {
        self.complaints = complaints
        self.path = path
    }

    /// `httpdnsd --check` shows the rest.
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
