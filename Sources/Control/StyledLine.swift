// A terminal line of styled pieces. All but printable ASCII is escaped, so that each character takes one column and
// cannot move the cursor.

package struct StyledLine: Equatable, Sendable {
    package enum Style: Equatable, Sendable {
        case plain, title, quiet, good, doubtful, bad
    }

    private var pieces: [(text: String, style: Style)] = []

    package init() {}

    package init(_ text: String, _ style: Style = .plain) { append(text, style) }

    package static func == (one: StyledLine, other: StyledLine) -> Bool { one.painted == other.painted }

    package mutating func append(_ text: String, _ style: Style = .plain) {
        pieces.append((text.unicodeScalars.map { $0.escaped(asASCII: true) }.joined(), style))
    }

    package var columns: Int { pieces.reduce(0) { $0 + $1.text.utf8.count } }

    package var plain: String { pieces.map(\.text).joined() }

    /// The line with the SGR sequences of ECMA-48.
    package var painted: String {
        pieces.map { $0.style == .plain ? $0.text : "\u{1B}[\($0.style.code)m\($0.text)\u{1B}[0m" }.joined()
    }

    /// Returns the line truncated to `columns`, with a mark if it was cut.
    package func cut(to columns: Int) -> StyledLine {
        guard self.columns > columns else { return self }
        var line = StyledLine()
        var left = max(0, columns - 1)
        for piece in pieces where left > 0 {
            let text = String(piece.text.prefix(left))
            line.pieces.append((text, piece.style))
            left -= text.utf8.count
        }
        if columns > 0 { line.pieces.append((">", .quiet)) }
        return line
    }

    /// Returns the line padded with spaces to `columns`, followed by `other`.
    package func padded(to columns: Int, then other: StyledLine) -> StyledLine {
        var line = self
        line.append(String(repeating: " ", count: max(0, columns - self.columns)))
        line.pieces += other.pieces
        return line
    }
}

extension StyledLine.Style {
    fileprivate var code: String {
        switch self {
        case .plain: "0"
        case .title: "1"
        case .quiet: "2"
        case .good: "32"
        case .doubtful: "33"
        case .bad: "31"
        }
    }
}
