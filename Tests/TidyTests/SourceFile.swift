// A file of the repository for the house rules: its path, its lines, and its code without comments and strings.

struct SourceFile: Sendable {
    /// The path from the top of the repository.
    let path: String
    let text: String
    /// The text with comments and string literals blanked out, line for line the same.
    let code: String

    init(path: String, text: String) {
        self.path = path
        self.text = text
        code = path.hasSuffix(".swift") ? SwiftCode.withoutTexts(text) : text
    }

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    var codeLines: [Substring] { code.split(separator: "\n", omittingEmptySubsequences: false) }
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    var isSwift: Bool { path.hasSuffix(".swift") }

    /// Whether the file is a program, not a document, settings or a vector.
    var isProgram: Bool {
        [".swift", ".c", ".cpp", ".h"].contains { path.hasSuffix($0) } || path.hasPrefix("scripts/")
    }

    var isSource: Bool { path.hasPrefix("Sources/") }

    /// The folder under Sources: a module or a program.
    var module: String? {
        let parts = path.split(separator: "/")
        return isSource && parts.count > 2 ? String(parts[1]) : nil
    }
}

/// One finding, to be printed as an editor understands it.
struct Complaint: Equatable, CustomStringConvertible {
    let path: String
    let line: Int
    let what: String

    var description: String { "\(path):\(line): \(what)" }
}
