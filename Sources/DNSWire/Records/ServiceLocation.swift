// The data of a SRV record (RFC 2782).

package struct ServiceLocation: Hashable, Sendable {
    package let priority: UInt16
    package let weight: UInt16
    package let port: UInt16
    /// The target of the service; the root means that the service is not available.
    package let target: Name

    /// Parses "PRIORITY WEIGHT PORT TARGET" with single spaces.
    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 4, let target = Name(words[3]) else { return nil }
        let numbers = words.prefix(3).compactMap { word in UInt16(word).flatMap { "\($0)" == word ? $0 : nil } }
        guard numbers.count == 3 else { return nil }
        (priority, weight, port, self.target) = (numbers[0], numbers[1], numbers[2], target)
    }

    /// RDATA of the record.
    package var data: [UInt8] {
        var data: [UInt8] = []
        for number in [priority, weight, port] { data.appendBigEndian(number) }
        return data + target.wire
    }
}

extension ServiceLocation: CustomStringConvertible {
    package var description: String { "\(priority) \(weight) \(port) \(target)" }
}
