// The output of `httpdnsctl report-bug` after it has written the file.

package struct WrittenReport: Report, Equatable {
    private let path: String
    private let bytes: Int
    /// Sections without content, each with the reason.
    private let missing: [String]

    /// Maximum size of a path: PATH_MAX of Linux.
    private static let maxPathBytes = 4096

    package init(path: String, bytes: Int, missing: [String]) {
        self.path = path
        self.bytes = bytes
        self.missing = missing
    }

    package var text: String {
        "\(path.shown(maxBytes: WrittenReport.maxPathBytes)): \(LineFormat.size(bytes: bytes))\n"
            + missing.map { "missing: \($0)\n" }.joined()
            + "Next: read the file, remove what you do not want to show, and attach it to your report.\n"
    }
}
