// JSON of reports.

import FoundationEssentials

/// Decodes JSON; nil if the text does not have the form of `Value`.
func decoded<Value: Decodable>(_ text: String) -> Value? {
    try? JSONDecoder().decode(Value.self, from: Data(text.utf8))
}

/// Encodes a report. Reports hold only numbers and strings, so encoding should not fail; if it does, the result says
/// so.
func json(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    // A share with a zero denominator is encoded as text, so that the rest of the report is still shown.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "infinite", negativeInfinity: "-infinite", nan: "none")
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return "{\"error\":\"the report cannot be written\"}\n" }
    return String(decoding: data, as: UTF8.self) + "\n"
}
