// A path to values in JSON, as a recipe writes it: "data.{name}.ipv{family}.ip", "dns.[host={name}].ips", "*.ip". The
// client reads and the server writes along it.

import DNSWire
import JSON

struct JSONPath: Equatable, Sendable {
    enum Segment: Equatable, Sendable {
        /// An object key; may contain {family} and {type}.
        case key(RecipeText)
        /// The member with the query name as its key.
        case name
        case index(Int)
        /// Every element of an array.
        case any
        /// The array element that holds the query name under this key.
        case element(key: String)

        var choosesName: Bool {
            switch self {
            case .name, .element: true
            case .key, .index, .any: false
            }
        }
    }

    enum Finding: Equatable {
        case values([JSONValue])
        /// The reply has nothing about the name or this family.
        case absent
        /// The path ends before the part that depends on the name.
        case malformed
    }

    /// The largest array index in a path; legitimate replies have fewer elements.
    static let maxIndex = 99
    static let form = "segments with dots between: a key, {name}, a number up to \(maxIndex), *, or [key={name}]"

    let segments: [Segment]

    var choosesName: Bool { segments.contains(where: \.choosesName) }

    /// Parses a path; returns nil for an invalid one.
    init?(_ text: String) {
        let texts = text.split(separator: ".", omittingEmptySubsequences: false)
        // The value at the end may be an array, so one level of depth stays free.
        guard texts.count < JSONBody.maxDepth else { return nil }
        let segments = texts.compactMap(JSONPath.segment)
        guard segments.count == texts.count else { return nil }
        self.segments = segments
    }

    private static func segment(_ text: Substring) -> Segment? {
        if text == "*" { return .any }
        if text == "{name}" { return .name }
        if text.hasPrefix("["), text.hasSuffix("={name}]") {
            let key = text.dropFirst().dropLast("={name}]".count)
            return key.isEmpty || key.contains(where: { "{}[]=".contains($0) }) ? nil : .element(key: String(key))
        }
        if !text.isEmpty, text.utf8.allSatisfy(\.isDigit) {
            return Int(text).flatMap { $0 <= maxIndex ? .index($0) : nil }
        }
        guard !text.isEmpty, !text.contains(where: { "[]".contains($0) }) else { return nil }
        guard let key = try? RecipeText(String(text)) else { return nil }
        return key.placeholders.allSatisfy { $0 == .family || $0 == .type } ? .key(key) : nil
    }

    // MARK: reading

    func find(in body: JSONValue, for question: Question) -> Finding {
        var values = [body]
        var isBehindName = false
        for segment in segments {
            let steps = values.compactMap { JSONPath.step(into: $0, segment, question) }
            isBehindName = isBehindName || segment.choosesName
            values = steps.flatMap { $0 }
            guard values.isEmpty else { continue }
            // After a name or `*` segment, no match means absent; a key missing before it means malformed.
            return !steps.isEmpty && (isBehindName || segment == .any) ? .absent : .malformed
        }
        return .values(values)
    }

    /// Returns the values that the segment leads to; nil if the value has the wrong kind for the segment.
    private static func step(into value: JSONValue, _ segment: Segment, _ question: Question) -> [JSONValue]? {
        switch (segment, value) {
        case (.key(let key), .object): value[key.rendered(of: question)].map { [$0] } ?? []
        case (.name, .object): value[question.name].map { [$0] } ?? []
        case (.index(let index), .array(let elements)): index < elements.count ? [elements[index]] : []
        case (.index(let index), .object): value[String(index)].map { [$0] } ?? []
        case (.any, .array(let elements)): elements
        case (.element(let key), .array(let elements)):
            elements.first { $0[key]?.isName(question.name) == true }.map { [$0] } ?? []
        default: nil
        }
    }

    // MARK: writing

    /// Returns the body with the value added at the path's end. It is appended to an array; of two numbers the smaller
    /// one stays.
    ///
    /// - Parameter place: the index of the name among the questions, used for `*` segments.
    func placing(_ value: JSONValue, in body: JSONValue?, for question: Question, place: Int) -> JSONValue {
        JSONPath.placing(value, segments[...], body, question, place)
    }

    private static func placing(
        _ value: JSONValue, _ segments: ArraySlice<Segment>, _ body: JSONValue?, _ question: Question, _ place: Int
    ) -> JSONValue {
        guard let segment = segments.first else { return body.map { merging($0, value) } ?? value }
        let rest = { (inner: JSONValue?) in placing(value, segments.dropFirst(), inner, question, place) }
        var members = JSONObject()
        if case .object(let object)? = body { members = object }
        var elements = body?.elements ?? []
        let index: Int
        switch segment {
        case .key(let key):
            members[key.rendered(of: question)] = rest(members[key.rendered(of: question)])
            return .object(members)
        case .name:
            members["\(question.name)"] = rest(members["\(question.name)"])
            return .object(members)
        case .index(let number): index = number
        case .any: index = place
        case .element(let key):
            let found = elements.firstIndex { $0[key]?.isName(question.name) == true }
            index = found ?? elements.count
            if found == nil { elements.append(.object([key: .text("\(question.name)")])) }
        }
        while elements.count <= index { elements.append(.null) }
        elements[index] = rest(elements[index] == .null ? nil : elements[index])
        return .array(elements)
    }

    private static func merging(_ old: JSONValue, _ new: JSONValue) -> JSONValue {
        switch (old, new) {
        case (.array(let first), .array(let second)): .array(first + second)
        case (.integer(let first), .integer(let second)): .integer(min(first, second))
        default: new
        }
    }
}

extension RecipeText {
    fileprivate func rendered(of question: Question) -> String {
        rendered([.family: question.type == .a ? "4" : "6", .type: String(question.type.rawValue)])
    }
}
