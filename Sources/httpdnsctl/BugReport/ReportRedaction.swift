// Removes secrets and client addresses from the lines of a bug report, and bounds their length. The daemon writes none
// into its reports; values of a wrong settings file may get into the log.

import Control
import DNSWire
import Settings

struct ReportRedaction {
    /// The secrets, the longest first, so that a secret inside another one does not split it.
    private let secrets: [[UInt8]]
    /// How much of the end of a line that was cut is dropped: there may be the beginning of a secret or of a client's
    /// address. Twice the length of the longest secret or address, since the removal of others inside may have
    /// lengthened it.
    private let marginBytes: Int
    /// The paths of lists of rules, whose texts are no secrets.
    private let lists: [[UInt8]]

    /// Shorter secrets, such as an account "100", would also match counters. No report of the daemon has an account.
    private static let minSecretBytes = 6
    /// Bound on an address: longer than any address with its zone.
    private static let maxAddressBytes = 64
    /// Bound on a line: longer than any line of a report of ours.
    private static let maxLineBytes = 8 << 10
    private static let removed = Array(Settings.removed.utf8)

    init(_ settings: Settings) {
        secrets = settings.redactedTexts.map { Array($0.utf8) }.filter { $0.count >= ReportRedaction.minSecretBytes }
            .sorted {
                ($0.count, String(decoding: $0, as: UTF8.self)) > ($1.count, String(decoding: $1, as: UTF8.self))
            }
        lists = settings.rules.flatMap(\.matchFiles).map { Array("\($0):".utf8) }
        marginBytes = 2 * max(secrets.first?.count ?? 0, ReportRedaction.maxAddressBytes)
    }

    /// Returns the line printable, without secrets, and cut. The cost does not depend on the length of a line.
    func line(_ line: some Collection<UInt8>) -> String {
        var bytes = Array(line.prefix(ReportRedaction.maxLineBytes + marginBytes))
        let isCut = bytes.count < line.count
        // Bytes are compared, because a combining character behind a secret makes another character of its last one.
        for secret in secrets { bytes.replace(secret, with: ReportRedaction.removed) }
        if isCut { bytes.removeLast(min(marginBytes, bytes.count)) }
        let text = withoutClient(withoutValue(bytes))
        return String(decoding: text, as: UTF8.self).shown(maxBytes: ReportRedaction.maxLineBytes)
    }

    /// Cuts an error of the settings in front of its value: "FILE:2:8: cache.size: found 64; allowed: ...".
    private func withoutValue(_ line: [UInt8]) -> [UInt8] {
        let values = [": found ", ": write "].compactMap { line.range(of: Array($0.utf8)) }
        guard let value = values.min(by: { $0.lowerBound < $1.lowerBound }), !isAboutList(line[..<value.lowerBound])
        else { return line }
        return line[..<value.upperBound] + ReportRedaction.removed
    }

    /// Whether a text ends with a place in a list: "LIST:3:1".
    private func isAboutList(_ text: ArraySlice<UInt8>) -> Bool {
        let end = text.reversed().drop(while: \.isDigit)
        guard end.count < text.count, end.first == UInt8(ascii: ":") else { return false }
        let file = end.dropFirst().drop(while: \.isDigit)
        return lists.contains { file.starts(with: $0.reversed()) }
    }

    /// Removes the client from a line of the query log, as text or JSON, wherever it stands.
    private func withoutClient(_ line: [UInt8]) -> [UInt8] {
        let withoutAddresses = line.replacing(behind: Array(", from ".utf8)) { rest in
            ReportRedaction.address(at: rest)
        }
        return withoutAddresses.replacing(behind: Array("\"client\":\"".utf8)) { rest in
            rest.prefix { $0 != UInt8(ascii: "\"") }
        }
    }

    /// The address that begins here, with its brackets, port and zone; nil if there is none.
    private static func address(at rest: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let ends = " ,;)\"".utf8
        let word = rest.prefix(maxAddressBytes + 1).prefix { !ends.contains($0) }
        // The sentence may end behind the address.
        let text = String(decoding: word, as: UTF8.self)
        let whole = String(text.reversed().drop { ".:".contains($0) }.reversed())
        let inner = String(whole.drop { $0 == "[" }.prefix { !"]%".contains($0) })
        let isAddress = SocketAddress(whole) != nil || [text, inner].contains { Address($0) != nil }
        return isAddress ? word : nil
    }
}

extension [UInt8] {
    /// Returns the first occurrence of a text that is not empty.
    fileprivate func range(of text: [UInt8], from start: Int = 0) -> Range<Int>? {
        var rest = self[start...]
        while let found = rest.firstIndex(of: text[0]) {
            if self[found...].starts(with: text) { return found..<found + text.count }
            rest = self[(found + 1)...]
        }
        return nil
    }

    /// Puts the mark for removed text in place of what `secret` finds behind each occurrence of a text.
    fileprivate func replacing(
        behind text: [UInt8], _ secret: (ArraySlice<UInt8>) -> ArraySlice<UInt8>?
    ) -> [UInt8] {
        var (result, end): ([UInt8], Int) = ([], 0)
        while let start = range(of: text, from: end)?.upperBound {
            result += self[end..<start]
            end = start
            if let found = secret(self[start...]) {
                result += Array(Settings.removed.utf8)
                end = found.endIndex
            }
        }
        return result + self[end...]
    }

    fileprivate mutating func replace(_ text: [UInt8], with replacement: [UInt8]) {
        guard var found = range(of: text) else { return }
        var (result, end): ([UInt8], Int) = ([], 0)
        while true {
            result += self[end..<found.lowerBound] + replacement
            end = found.upperBound
            guard let next = range(of: text, from: end) else { break }
            found = next
        }
        self = result + self[end...]
    }
}
