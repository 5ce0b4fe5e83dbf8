// The text of `stats`: one line for each number and text.

extension StatsReport {
    /// The text: sorted dotted names, with the values in one column. A provider's numbers are prefixed with its name.
    package var text: String {
        guard let lines = StatsReport.lines(ofJSON: json(self)) else { return json(self) }
        let width = lines.map(\.name.utf8.count).max() ?? 0
        return lines.map { line in
            line.name + String(repeating: " ", count: width - line.name.utf8.count + 1) + line.value + "\n"
        }.joined()
    }

    /// Returns the lines; nil if the text is not JSON.
    static func lines(ofJSON text: String) -> [(name: String, value: String)]? {
        (decoded(text) as StatsTree?)?.lines(under: "")
    }
}
