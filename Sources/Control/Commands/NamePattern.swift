// A shell-style pattern that selects names by their text.

package import DNSWire

package struct NamePattern: Equatable, Sendable {
    /// Maximum size of a pattern: enough for some labels and stars. The cost of a match grows with this length.
    static let maxBytes = 64
    /// The pattern in lower case, without a final dot.
    private let pattern: [UInt8]

    /// Compiles a pattern: `*` matches any number of characters, dots included, and `?` matches one. Nil if the pattern
    /// is empty, too long, or not printable ASCII.
    package init?(_ text: String) {
        let bytes = Array(text.lowercased().utf8)
        guard !bytes.isEmpty, bytes.count <= NamePattern.maxBytes, bytes.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            return nil
        }
        pattern = bytes.count > 1 && bytes.last == UInt8(ascii: ".") ? bytes.dropLast() : bytes
    }

    /// Returns the text to match, computed once for many patterns.
    package static func text(of name: Name) -> [UInt8] { Array(name.description.lowercased().utf8) }

    /// Matches iteratively: after a mismatch the last star takes one more character. Steps are at most pattern length
    /// times name length.
    ///
    /// - Parameter steps: the remaining steps; the result is nil if they are used up.
    package func matches(_ text: [UInt8], steps: inout Int) -> Bool? {
        var (place, next) = (0, 0)
        var star: (next: Int, place: Int)?
        while place < text.count {
            guard steps > 0 else { return nil }
            steps -= 1
            if next < pattern.count, pattern[next] == UInt8(ascii: "*") {
                next += 1
                star = (next, place)
            } else if next < pattern.count, pattern[next] == UInt8(ascii: "?") || pattern[next] == text[place] {
                (place, next) = (place + 1, next + 1)
            } else if let last = star {
                star = (last.next, last.place + 1)
                (place, next) = (last.place + 1, last.next)
            } else {
                return false
            }
        }
        return pattern[next...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
