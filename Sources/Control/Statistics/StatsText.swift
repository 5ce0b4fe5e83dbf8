// `stats` as text: one line per number, generated from the JSON form, so that both have the same keys.

extension StatsReport {
    /// The text: sorted dotted names, with the values in one column. A provider's numbers are prefixed with its name.
    package var text: String {
        guard let lines = StatsReport.lines(ofJSON: json(self)) else { return json(self) }
        let width = lines.map(\.name.utf8.count).max() ?? 0
        return lines.map { line in
            line.name + String(repeating: " ", count: width - line.name.utf8.count + 1) + line.value + "\n"
        }.joined()
    }

    /// Returns the lines; nil if the text is not JSON.
    static func lines(ofJSON text: String) -> [(name: String, value: String)]? {
        (decoded(text) as Tree?)?.lines(under: "")
    }
}

private enum Tree: Decodable {
    case number(Int)
    case share(Double)
    case flag(Bool)
    case string(String)
    case list([Tree])
    case members([String: Tree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else if let share = try? container.decode(Double.self) {
            self = .share(share)
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let list = try? container.decode([Tree].self) {
            self = .list(list)
        } else {
            self = .members(try container.decode([String: Tree].self))
        }
    }

    func lines(under name: String) -> [(name: String, value: String)] {
        let prefix = name.isEmpty ? "" : "\(name)."
        switch self {
        case .number(let number): return [(name, "\(number)")]
        case .share(let share): return [(name, "\((share * 1000).rounded(.towardZero) / 1000)")]
        case .flag(let flag): return [(name, flag ? "yes" : "no")]
        case .string(let string): return [(name, string)]
        case .members(let members):
            return members.sorted { $0.key < $1.key }.flatMap { $0.value.lines(under: prefix + $0.key) }
        case .list(let elements):
            // A histogram's buckets share one line.
            if let numbers = Tree.numbers(elements) { return [(name, numbers)] }
            return elements.enumerated().flatMap { index, element in element.elementLines(prefix, index) }
        }
    }

    /// Returns the numbers as one text; nil unless all elements are numbers.
    private static func numbers(_ elements: [Tree]) -> String? {
        var texts: [String] = []
        for element in elements {
            guard case .number(let number) = element else { return nil }
            texts.append("\(number)")
        }
        return texts.isEmpty ? nil : texts.joined(separator: " ")
    }

    private func elementLines(_ prefix: String, _ index: Int) -> [(name: String, value: String)] {
        guard case .members(var members) = self, case .string(let name)? = members.removeValue(forKey: "name") else {
            return lines(under: "\(prefix)\(index)")
        }
        return Tree.members(members).lines(under: prefix + name)
    }
}
