// Corrects files as the messages propose, and parses them again.

import Settings
import Testing

struct RemedyTests {
    @Test("a text that a message says to write is not refused", arguments: commonMistakes)
    func remedy(_ mistake: Case) throws {
        let found = try #require(complaints(mistake.text).first)
        guard let corrected = try corrected(mistake.text, by: found) else { return }
        #expect(corrected != mistake.text)
        let (line, column) = try place(of: found)
        let left = complaints(corrected).filter { complaint in
            complaint == found || complaint.contains(": syntax: ")
                || complaint.hasPrefix("f:\(line):\(column):") && complaint.contains(": found ")
        }
        #expect(left.isEmpty, "\(corrected)")
    }

    /// The corrected file; nil if the message proposes no text.
    private func corrected(_ text: String, by complaint: String) throws -> String? {
        guard let remedy = complaint.firstMatch(of: #/.*\bwrite(?:, for example,)? (.*)$/#) else { return nil }
        var proposal = remedy.1
        let (line, column) = try place(of: complaint)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if let addition = proposal.firstMatch(of: #/^(,|\]) behind (.*)$/#) {
            // The element may be on a line below the bracket, or above the place.
            let index = try #require(lines.lastIndex { $0.contains(addition.2) })
            lines[index].replace(addition.2, with: addition.2 + addition.1, maxReplacements: 1)
        } else if proposal.hasPrefix("["), lines[line - 1].hasPrefix("[") {
            lines[line - 1] = String(proposal)
        } else if proposal.contains(" = ") {
            if proposal.hasSuffix("/PATH\"") { proposal = "url = \"https://192.0.2.1/\"" }
            lines.insert(String(proposal), at: line)
        } else {
            let start = lines[line - 1].index(lines[line - 1].startIndex, offsetBy: column - 1)
            let written = #/"[^"]*"|“[^”]*”|\[[^\s,\]]+\]:\d+|[^\s,\]]+/#
            let value = try #require(lines[line - 1][start...].prefixMatch(of: written))
            lines[line - 1].replaceSubrange(value.range, with: proposal)
        }
        return lines.joined(separator: "\n")
    }

    private func place(of complaint: String) throws -> (line: Int, column: Int) {
        let numbers = try #require(complaint.firstMatch(of: #/^f:(\d+):(\d+): /#))
        return (try #require(Int(numbers.1)), try #require(Int(numbers.2)))
    }
}
