// Why settings cannot take effect: the settings file itself, or a file that it names.

package struct UnusableSettings: Error {
    /// Each is one line: file, line, column, finding, remedy.
    package let complaints: [String]

    package init(complaints: [String]) { self.complaints = complaints }

    /// Runs a parser, whose errors become the complaints.
    package static func catching<Value>(
        _ parse: () throws(SettingsError) -> Value
    ) throws(UnusableSettings) -> Value {
        do throws(SettingsError) {
            return try parse()
        } catch {
            throw UnusableSettings(complaints: error.lines)
        }
    }
}
