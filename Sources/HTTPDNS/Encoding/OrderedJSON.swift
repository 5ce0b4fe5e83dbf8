// Writes JSON with members in the vendor's order, for bytes that are compared, signed or encrypted. `JSONBody` reads
// JSON.

import JSON

indirect enum OrderedJSON {
    case string(String)
    case number(Int)
    case array([OrderedJSON])
    case object([(name: String, value: OrderedJSON)])

    var text: String {
        switch self {
        case .string(let text): JSONValue.text(text).text
        case .number(let number): String(number)
        case .array(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(OrderedJSON.string($0.name).text):\($0.value.text)" }.joined(separator: ","))}"
        }
    }

    static func strings(_ texts: [String]) -> OrderedJSON { .array(texts.map { .string($0) }) }
}
