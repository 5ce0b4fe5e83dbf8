// JSON of reports.

import JSON

/// Decodes JSON; nil if the text does not have the form of `Value`.
func decoded<Value: Decodable>(_ text: String) -> Value? {
    try? Value(decoding: JSONValue(reading: Array(text.utf8)))
}

/// Encodes a report. Reports hold only numbers and strings, so encoding should not fail; if it does, the result says
/// so.
func json(_ value: some Encodable) -> String {
    guard let document = try? value.encoded() else { return "{\"error\":\"the report cannot be written\"}\n" }
    return document.text + "\n"
}
