// Values as one line of JSON with keys in order, so that equal values give equal lines.

import FoundationEssentials

enum JSONLine {
    static func render(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Our reports are trees of strings and integers: there is nothing that can't be encoded.
        let data = (try? encoder.encode(value)) ?? Data("{}".utf8)
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
