// Which names somebody wants to see: a pattern as shells know it, over the text of a name.

package import DNSWire

package struct NamePattern: Equatable, Sendable {
    /// Some labels with stars between them. What a match costs grows with it.
    static let maxBytes = 64
    /// In lower case, without a final dot.
    private let pattern: [UInt8]

    /// `*` stands for any number of characters, dots included, `?` for one. Nil for what is empty, too long, or not
    /// printable ASCII.
    package init?(_ text: String) {
        let bytes = Array(text.lowercased().utf8)
        guard !bytes.isEmpty, bytes.count <= NamePattern.maxBytes, bytes.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            return nil
        }
        pattern = bytes.count > 1 && bytes.last == UInt8(ascii: ".") ? bytes.dropLast() : bytes
    }

    package func matches(_ name: Name) -> Bool {
        var steps = Int.max
        return matches(NamePattern.text(of: name), steps: &steps) ?? false
    }

    /// What patterns are held against: once for many of them.
    package static func text(of name: Name) -> [UInt8] { Array(name.description.lowercased().utf8) }

    /// On a mismatch the last star takes one character more: no more steps than pattern times name.
    ///
    /// - Parameter steps: those that may still be taken; nil is returned when they are not enough.
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
