// Divides the text of a settings file into its tables and keys, so that `httpdnsctl setup` can keep the parts that it
// does not ask about.

package struct SettingsPart: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// A key above the tables.
        case key
        /// A table or an element of an array of tables, with its header and without the tables below it.
        case table
        /// A key of one of the tables that are divided.
        case keyOfTable(String)
    }

    package let kind: Kind
    /// The key at the top of the settings, such as "rule", or the key in the table.
    package let key: String
    /// The text of the part, with the comments directly above it.
    package let text: String
    /// Numbers of the lines without these comments, from 1.
    package let lines: ClosedRange<Int>

    /// Whether the part is an element of an array of tables.
    package var isElement: Bool { statements.drop { $0 == " " || $0 == "\t" }.hasPrefix("[[") }

    /// The lines without comments and empty lines.
    package var statements: String {
        SettingsPart.lines(of: Array(text.utf8)[...]).filter { !SettingsPart.isBlank($0) }.map { "\($0)\n" }.joined()
    }

    /// A line may end with a carriage return, with which Swift would take its end for one character.
    fileprivate static func lines(of bytes: ArraySlice<UInt8>) -> [Substring] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { Substring(String(decoding: $0, as: UTF8.self)) }
    }

    fileprivate static func isBlank(_ line: Substring) -> Bool { isEmpty(line) || isComment(line) }

    fileprivate static func isEmpty(_ line: Substring) -> Bool { line.allSatisfy(\.isWhitespace) }

    fileprivate static func isComment(_ line: Substring) -> Bool { line.first { !$0.isWhitespace } == "#" }

    /// Returns the parts in the order of the file; nil if the text is not TOML. Comments that stand apart belong to no
    /// part, or to the table that they are in.
    ///
    /// - Parameter divided: tables whose keys are parts of their own.
    package static func all(in bytes: [UInt8], dividing divided: Set<String>) -> [SettingsPart]? {
        let bytes = TOMLDocument.text(bytes)
        let document: TOMLDocument
        do throws(TOMLDocument.SyntaxError) {
            document = try TOMLDocument(bytes)
        } catch {
            return nil
        }
        var starts = Starts(lines: lines(of: bytes), divided: divided)
        starts.add(document.root, of: document)
        return starts.parts
    }
}

/// Lines at which parts start.
private struct Starts {
    let lines: [Substring]
    let divided: Set<String>
    /// The parts by the numbers of their lines, from 0.
    private var found: [Int: (kind: SettingsPart.Kind, key: String)] = [:]

    init(lines: [Substring], divided: Set<String>) { (self.lines, self.divided) = (lines, divided) }

    mutating func add(_ root: TOMLNode, of document: borrowing TOMLDocument) {
        guard case .table(let children) = root.value else { return }
        for (key, node) in children {
            if !addHeaders(node, key, document) { found[line(of: node, document)] = (.key, key) }
            guard divided.contains(key), case .table(let keys) = node.value else { continue }
            for (name, child) in keys where found[line(of: child, document)] == nil {
                found[line(of: child, document)] = (.keyOfTable(key), name)
            }
        }
    }

    /// Adds the headers of a table and of the tables below it.
    ///
    /// - Returns: whether there are any headers: `a.b = 1` and `a = {b = 1}` make tables without headers.
    private mutating func addHeaders(_ node: TOMLNode, _ key: String, _ document: borrowing TOMLDocument) -> Bool {
        let children: [TOMLNode]
        var hasAny = false
        switch node.value {
        case .array(let elements): children = elements
        case .table(let entries):
            children = entries.map(\.node)
            let line = line(of: node, document)
            if lines[line].first(where: { !$0.isWhitespace }) == "[" {
                found[line] = (.table, key)
                hasAny = true
            }
        case .boolean, .integer, .float, .string, .dateOrTime: return false
        }
        for child in children where addHeaders(child, key, document) { hasAny = true }
        return hasAny
    }

    private func line(of node: TOMLNode, _ document: borrowing TOMLDocument) -> Int {
        min(max(document.place(of: node.index, ofKey: true).line - 1, 0), lines.count - 1)
    }

    var parts: [SettingsPart] {
        let ordered = found.sorted { $0.key < $1.key }
        return ordered.enumerated().map { index, start in
            let (line, (kind, key)) = start
            let limit = index + 1 < ordered.count ? comments(above: ordered[index + 1].key) : lines.count
            let rest = lines[line..<limit]
            let isPart = kind == .table ? SettingsPart.isEmpty : SettingsPart.isBlank
            let end = rest.lastIndex { !isPart($0) } ?? line
            let text = lines[comments(above: line)...end].map { "\($0)\n" }.joined()
            let last = rest.lastIndex { !SettingsPart.isBlank($0) } ?? line
            return SettingsPart(kind: kind, key: key, text: text, lines: line + 1...last + 1)
        }
    }

    /// Returns the first of the comments directly above a line; the line itself if there are none.
    private func comments(above line: Int) -> Int {
        var first = line
        while first > 0, SettingsPart.isComment(lines[first - 1]) { first -= 1 }
        return first
    }
}
