// The former settings: `httpdnsctl setup --replace` keeps those that it does not ask about, and lists each line that it
// drops.

import DNSWire
import Settings

struct FormerSettings: Sendable {
    /// The parts of the file; nil: the file is not TOML.
    private let parts: [SettingsPart]?
    private let lineCount: Int

    /// There is no former file.
    static let none = FormerSettings([])

    /// The new file with what was kept.
    struct Result: Equatable {
        let text: String
        /// Lines of the former file, with their keys: "lines 3 to 7: [[provider]]".
        let leftOut: [LocalizedText]
    }

    init(_ bytes: [UInt8]) {
        parts = SettingsPart.all(in: bytes, dividing: [FormerSettings.server])
        lineCount = bytes.split(separator: UInt8(ascii: "\n")).count
    }

    private static let server = "server"
    private static let provider = "provider"
    private static let onlyListed = "only-listed"

    /// Sections of a new file that the settings' parser accepts, each with its last line's end.
    struct NewFile {
        /// The text up to the first table.
        let top: String
        /// The table `server`.
        let server: String
        /// The other tables; may be empty.
        let tables: String
    }

    /// Adds to a new file what it does not have.
    func added(to new: NewFile) -> Result {
        let written = FormerSettings.text(FormerSettings.pieces([], new))
        guard let parts else {
            return Result(text: written, leftOut: ["all \(lineCount) lines: the file is not TOML"])
        }
        var kept = parts.filter { isKept($0, beside: written) }
        var usual: [SettingsPart] = []
        while !kept.isEmpty {
            let pieces = FormerSettings.pieces(kept, new)
            guard let refused = FormerSettings.refused(pieces) else {
                let effective = FormerSettings.withEffect(pieces)
                usual = kept.filter { !effective.contains($0) }
                kept = effective
                break
            }
            // If the complaints are about none of the kept parts, the new file alone is certain to be accepted.
            kept = refused.isEmpty ? [] : kept.filter { !refused.contains($0) }
        }
        let leftOut = parts.filter { !(kept + usual).contains($0) && !written.contains($0.statements) }
        return Result(
            text: FormerSettings.text(FormerSettings.pieces(kept, new)), leftOut: leftOut.map(FormerSettings.words))
    }

    /// Whether the part is kept. Setup asks about providers, listening addresses and clients.
    private func isKept(_ part: SettingsPart, beside written: String) -> Bool {
        switch part.kind {
        case .table: part.key != FormerSettings.server && part.key != FormerSettings.provider
        case .keyOfTable: part.key != "listen" && part.key != "allow"
        case .key:
            switch part.key {
            case FormerSettings.server, FormerSettings.provider: false
            // Setup itself writes this key into a file without providers.
            case FormerSettings.onlyListed: !written.contains(FormerSettings.onlyListed) && hasProviders
            default: true
            }
        }
    }

    private var hasProviders: Bool { parts?.contains { $0.key == FormerSettings.provider } ?? false }

    private typealias Piece = (text: String, part: SettingsPart?)

    /// Returns the keys above the tables, the keys of the table `server`, and the tables at the end.
    private static func pieces(_ kept: [SettingsPart], _ new: NewFile) -> [Piece] {
        func all(_ isMeant: (SettingsPart.Kind) -> Bool) -> [Piece] {
            kept.filter { isMeant($0.kind) }.map { ($0.text, $0) }
        }
        let tables = all { $0 == .table }.map { [$0] }
        let sections: [[Piece]] = [
            [(new.top, nil)], all { $0 == .key }, [(new.server, nil)] + all { $0 != .key && $0 != .table },
            [(new.tables, nil)],
        ]
        // An empty line separates two sections.
        return Array((sections + tables).filter { $0.contains { !$0.text.isEmpty } }.joined(separator: [("\n", nil)]))
    }

    /// Returns the kept parts that say more than the defaults.
    private static func withEffect(_ pieces: [Piece]) -> [SettingsPart] {
        guard let settings = try? Settings.parse(bytes: bytes(pieces), file: "") else { return [] }
        var pieces = pieces
        for (index, piece) in pieces.enumerated() {
            // Each element of an array of tables has an effect.
            guard let part = piece.part, !part.isElement else { continue }
            // The part's line feeds stay, so that rules stay in their lines.
            pieces[index] = (String(piece.text.filter(\.isNewline)), nil)
            if (try? Settings.parse(bytes: bytes(pieces), file: "")) != settings { pieces[index] = piece }
        }
        return pieces.compactMap(\.part)
    }

    private static func bytes(_ pieces: [Piece]) -> [UInt8] { Array(text(pieces).utf8) }

    private static func text(_ pieces: [Piece]) -> String { pieces.map(\.text).joined() }

    /// Returns the kept parts that the settings' parser complains about; nil: it accepts the text.
    private static func refused(_ pieces: [Piece]) -> [SettingsPart]? {
        do throws(SettingsError) {
            _ = try Settings.parse(bytes: bytes(pieces), file: "")
            return nil
        } catch {
            let lines = Set(error.complaints.map(\.line))
            var first = 1
            var refused: [SettingsPart] = []
            for piece in pieces {
                let after = first + piece.text.utf8.count { $0 == UInt8(ascii: "\n") }
                if let part = piece.part, lines.contains(where: { first <= $0 && $0 < after }) { refused.append(part) }
                first = after
            }
            return refused
        }
    }

    /// Returns the line numbers and the key of a part, without the values, which may be secret.
    private static func words(_ part: SettingsPart) -> LocalizedText {
        let (first, last) = (part.lines.lowerBound, part.lines.upperBound)
        let key: LocalizedText =
            switch part.kind {
            case .key: LocalizedText(verbatim: part.key)
            case .table: "table \(part.key)"
            case .keyOfTable(let table): "\(table).\(part.key)"
            }
        return first == last ? "line \(first): \(key)" : "lines \(first) to \(last): \(key)"
    }
}
