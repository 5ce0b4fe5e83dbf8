// A JSON document from an untrusted source. What is read is the same after it is written and read again.

import JSON

extension FuzzEntry {
    package static let json = FuzzEntry(name: "JSON") { bytes in
        let limits = JSONLimits(maxDepth: 8, maxParts: 4096)
        guard let document = try? JSONValue(reading: bytes, within: limits) else { return }
        let text = document.text
        guard let again = try? JSONValue(reading: Array(text.utf8), within: limits) else {
            preconditionFailure("what is written can be read")
        }
        precondition(again.text == text, "a document has one form")
    }
}
