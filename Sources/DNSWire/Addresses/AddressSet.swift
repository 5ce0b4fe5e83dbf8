// Sets of addresses in the kernel's packet filter (nftables), as rules name them.

/// The name of a set: the family of its table, the table, the set. Written "inet#filter#allowed", as in dnsmasq.
package struct AddressSet: Hashable, Sendable, CustomStringConvertible {
    package enum Family: String, CaseIterable, Sendable { case ip, ip6, inet }

    package let family: Family
    package let table: String
    package let name: String

    /// Bound on the names of table and set. The kernel allows 255. A request with the longest name fits one small
    /// datagram.
    private static let maxNameBytes = 64

    package init?(_ text: some StringProtocol) {
        let parts = String(text).split(separator: Character("#"), omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let family = Family(rawValue: parts[0]), AddressSet.isIdentifier(parts[1]),
            AddressSet.isIdentifier(parts[2])
        else { return nil }
        (self.family, table, name) = (family, parts[1], parts[2])
    }

    package var description: String { "\(family.rawValue)#\(table)#\(name)" }

    /// The set as the commands of nft(8) name it.
    package var words: String { "\(family.rawValue) \(table) \(name)" }

    /// Whether the text is an identifier of nft(8), without the characters that need care in a command.
    private static func isIdentifier(_ text: String) -> Bool {
        guard (1...maxNameBytes).contains(text.utf8.count), let first = text.utf8.first else { return false }
        return (isLetter(first) || first == UInt8(ascii: "_"))
            && text.utf8.allSatisfy { isLetter($0) || "0123456789_-.".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

/// A set that gets addresses of a rule's names.
package struct AddressSetTarget: Hashable, Sendable, CustomStringConvertible {
    package let set: AddressSet
    /// The records whose addresses the set gets, A or AAAA; nil: those that the set's type allows.
    package let recordType: RecordType?

    /// Parses the name of a set. "4#" or "6#" before the set, as in dnsmasq, limits it to A or AAAA records.
    package init?(_ text: String) {
        let (rest, type): (Substring, RecordType?) =
            if text.hasPrefix("4#") {
                (text.dropFirst(2), .a)
            } else if text.hasPrefix("6#") {
                (text.dropFirst(2), .aaaa)
            } else {
                (text[...], nil)
            }
        guard let set = AddressSet(rest) else { return nil }
        self.set = set
        recordType = type
    }

    package var description: String {
        switch recordType {
        case .a: "4#\(set)"
        case .aaaa: "6#\(set)"
        default: set.description
        }
    }
}
