// The word table that events refer to by number. It only grows, so a number has one meaning for all readers and files.
// One thread appends.

import Synchronization

package final class FlightStrings: Sendable {
    /// Bound on words: enough for the provider names of some reloads, and for every result.
    package static let capacity = 1024
    /// Maximum size of a word in bytes of UTF-8; longer words are truncated.
    package static let maxBytes = 56
    static let wordsOfEntry = 8

    let memory = FlightMemory(words: capacity * wordsOfEntry)
    private let appended = Atomic<Int>(0)

    package init() {
        for word in FlightWord.fixed { append(word) }
    }

    /// Returns the empty word if the table is full.
    @discardableResult
    package func append(_ text: String) -> FlightWord {
        let number = appended.load(ordering: .relaxed)
        guard number < FlightStrings.capacity else { return .none }
        let bytes = FlightStrings.cut(text)
        let cells = unsafe memory.cells + number * FlightStrings.wordsOfEntry
        for word in 0..<((bytes.count + 7) / 8) {
            let value = bytes[(8 * word)..<min(bytes.count, 8 * word + 8)].reversed().reduce(UInt64(0)) {
                $0 << 8 | UInt64($1)
            }
            unsafe cells[1 + word].store(value, ordering: .relaxed)
        }
        unsafe cells[0].store(UInt64(bytes.count), ordering: .releasing)
        appended.store(number + 1, ordering: .releasing)
        return FlightWord(UInt16(number))
    }

    /// Returns the text of a word, from any thread; empty for an unknown number.
    package subscript(_ word: FlightWord) -> String {
        guard Int(word.number) < FlightStrings.capacity else { return "" }
        let cells = unsafe memory.cells + Int(word.number) * FlightStrings.wordsOfEntry
        let count = unsafe cells[0].load(ordering: .acquiring)
        let words = (0..<FlightStrings.wordsOfEntry).map { unsafe $0 == 0 ? count : cells[$0].load(ordering: .relaxed) }
        return FlightStrings.text(words) ?? ""
    }

    /// Returns the text of an entry; nil if the words are not a valid entry, since they may come from a file.
    static func text(_ words: [UInt64]) -> String? {
        guard words.count == wordsOfEntry, words[0] <= UInt64(maxBytes) else { return nil }
        let bytes = (0..<Int(words[0])).map { UInt8(truncatingIfNeeded: words[1 + $0 / 8] >> UInt64(8 * ($0 % 8))) }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func cut(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            let more = Array(String(scalar).utf8)
            guard bytes.count + more.count <= maxBytes else { break }
            bytes += more
        }
        return bytes
    }
}
