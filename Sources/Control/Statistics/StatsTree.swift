// Numbers and texts by name, in groups: the form of `stats` as JSON. Its text has one line for each.

package enum StatsTree: Codable, Equatable, Sendable {
    case number(Int)
    case share(Double)
    case flag(Bool)
    case text(String)
    case list([StatsTree])
    case members([String: StatsTree])

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else if let share = try? container.decode(Double.self) {
            self = .share(share)
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([StatsTree].self) {
            self = .list(list)
        } else {
            self = .members(try container.decode([String: StatsTree].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .number(let number): try number.encode(to: encoder)
        case .share(let share): try share.encode(to: encoder)
        case .flag(let flag): try flag.encode(to: encoder)
        case .text(let text): try text.encode(to: encoder)
        case .list(let list): try list.encode(to: encoder)
        case .members(let members): try members.encode(to: encoder)
        }
    }

    package var number: Int? { if case .number(let number) = self { number } else { nil } }
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var list: [StatsTree] { if case .list(let list) = self { list } else { [] } }
    package var members: [String: StatsTree] { if case .members(let members) = self { members } else { [:] } }

    /// The part at a path, such as "cache.hits"; nil if there is none.
    package subscript(path: String) -> StatsTree? {
        get { path.split(separator: ".").reduce(self as StatsTree?) { tree, key in tree?.members[String(key)] } }
        set { set(newValue, at: path.split(separator: ".")[...]) }
    }

    private mutating func set(_ part: StatsTree?, at path: ArraySlice<Substring>) {
        guard let key = path.first.map(String.init) else { return self = part ?? self }
        var members = members
        members[key, default: .members([:])].set(part, at: path.dropFirst())
        self = .members(members)
    }

    func lines(under name: String) -> [(name: String, value: String)] {
        let prefix = name.isEmpty ? "" : "\(name)."
        switch self {
        case .number(let number): return [(name, "\(number)")]
        case .share(let share): return [(name, "\((share * 1000).rounded(.towardZero) / 1000)")]
        case .flag(let flag): return [(name, flag ? "yes" : "no")]
        case .text(let text): return [(name, text)]
        case .members(let members):
            return members.sorted { $0.key < $1.key }.flatMap { $0.value.lines(under: prefix + $0.key) }
        case .list(let elements):
            // A histogram's buckets share one line.
            if let numbers = StatsTree.numbers(elements) { return [(name, numbers)] }
            return elements.enumerated().flatMap { index, element in element.elementLines(prefix, index) }
        }
    }

    /// Returns the numbers as one text; nil unless all elements are numbers.
    private static func numbers(_ elements: [StatsTree]) -> String? {
        let numbers = elements.compactMap(\.number)
        guard !numbers.isEmpty, numbers.count == elements.count else { return nil }
        return numbers.map(String.init).joined(separator: " ")
    }

    private func elementLines(_ prefix: String, _ index: Int) -> [(name: String, value: String)] {
        guard case .members(var members) = self, case .text(let name)? = members.removeValue(forKey: "name") else {
            return lines(under: "\(prefix)\(index)")
        }
        return StatsTree.members(members).lines(under: prefix + name)
    }
}
