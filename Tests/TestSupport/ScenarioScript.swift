// A scenario as text: the given state, and step by step the events and the expected actions. This file parses lines,
// words and times; the tests that run scenarios define the other words.
//
//     title  the first answer wins
//     given  provider a any, system
//     at 0ms    client 1 asks www.example A
//               expect fetch a
//     at 20ms   a answers 192.0.2.7 ttl 60
//               expect store 192.0.2.7 ttl 60 from a
//               expect reply 1 192.0.2.7 ttl 60 from a
//     until 2m  expect nothing
//
// "at" is an instant at which something happens. "until" lets time pass, through every deadline on the way.
// "#" begins a comment; ";" joins lines of one kind. A line that ends in "each 1-9" stands for nine lines with the
// number in the place of every "*".

package import DNSWire

package struct ScenarioScript: Sendable {
    package struct Step: Sendable {
        package let time: Duration
        /// The events at this instant: one line, or as many as its "each" states; none if the step only lets time pass.
        package let events: [ScenarioLine]
        package fileprivate(set) var expectations: [ScenarioLine] = []
        /// The line for complaints about the step as a whole.
        package let line: ScenarioLine
    }

    package let file: String
    package private(set) var title = ""
    /// The parts between the commas of the "given" lines, such as "provider a any" and "system".
    package private(set) var given: [ScenarioLine] = []
    package private(set) var steps: [Step] = []

    package init(path: String) throws {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        try self.init(file: name, text: String(decoding: try TestFile.bytes(at: path), as: UTF8.self))
    }

    package init(file: String, text: String) throws {
        self.file = file
        for (index, content) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = content.prefix { $0 != "#" }.split(separator: " ").map(String.init)
            guard !words.isEmpty else { continue }
            try add(ScenarioLine(file: file, number: index + 1, words: words))
        }
        guard !title.isEmpty else { throw ScenarioError(description: "\(file): no title") }
        for step in steps where step.expectations.isEmpty {
            throw step.line.error("nothing is expected of this step; say so: \"expect nothing\"")
        }
    }

    private mutating func add(_ line: ScenarioLine) throws {
        var line = line
        let word = try line.word("title, given, at, until or expect")
        switch word {
        case "title":
            guard title.isEmpty else { throw line.error("a second title") }
            title = line.rest()
        case "given":
            guard steps.isEmpty else { throw line.error("what is given stands before the first step") }
            given += line.parts(",")
        case "at", "until":
            let time = try line.duration()
            if let last = steps.last, time < last.time { throw line.error("time goes backwards") }
            let events = word == "at" ? try line.expanded() : []
            steps.append(Step(time: time, events: events, line: line))
            guard word == "until", line.take("expect") else { return try word == "at" ? () : line.end() }
            steps[steps.count - 1].expectations += try line.expanded()
        case "expect":
            guard !steps.isEmpty else { throw line.error("an expectation before the first step") }
            steps[steps.count - 1].expectations += try line.expanded()
        default: throw line.error("\"\(word)\" instead of title, given, at, until or expect")
        }
    }
}

package struct ScenarioError: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// The words of a line that have not been read yet.
package struct ScenarioLine: Sendable {
    private let file: String
    private let number: Int
    fileprivate private(set) var words: [String]

    fileprivate init(file: String, number: Int, words: [String]) {
        self.file = file
        self.number = number
        self.words = words
    }

    package func error(_ what: String) -> ScenarioError {
        ScenarioError(description: "\(file):\(number): \(what)")
    }

    /// The next word. If the line ends instead, the complaint says that `what` is missing.
    package mutating func word(_ what: String) throws -> String {
        guard !words.isEmpty else { throw error("the line ends before \(what)") }
        return words.removeFirst()
    }

    /// Takes the next word if it is this one.
    package mutating func take(_ word: String) -> Bool {
        guard words.first == word else { return false }
        words.removeFirst()
        return true
    }

    package func begins(with word: String) -> Bool { words.first == word }

    package mutating func require(_ word: String) throws {
        guard take(word) else { throw error("\"\(words.first ?? "the end")\" instead of \"\(word)\"") }
    }

    package mutating func rest() -> String {
        defer { words = [] }
        return words.joined(separator: " ")
    }

    package var isAtEnd: Bool { words.isEmpty }

    package func end() throws {
        guard words.isEmpty else { throw error("not understood: \"\(words.joined(separator: " "))\"") }
    }

    package mutating func number<Number: FixedWidthInteger>(_ what: String) throws -> Number {
        let text = try word(what)
        guard let number = Number(text) else { throw error("\"\(text)\" instead of \(what)") }
        return number
    }

    /// A number with its unit: 20ms, 1.8s, 5m, 1h.
    package mutating func duration() throws -> Duration {
        let text = try word("a time")
        let digits = text.prefix { $0.isNumber || $0 == "." }
        let milliseconds = ["ms": 1.0, "s": 1000, "m": 60_000, "h": 3_600_000][String(text.dropFirst(digits.count))]
        guard let milliseconds, let value = Double(digits) else { throw error("\"\(text)\" instead of a time") }
        return .milliseconds(value * milliseconds)
    }

    /// The parts between the separators.
    package func parts(_ separator: Character) -> [ScenarioLine] {
        words.joined(separator: " ").split(separator: separator).map { part in
            ScenarioLine(file: file, number: number, words: part.split(separator: " ").map(String.init))
        }
    }

    fileprivate func expanded() throws -> [ScenarioLine] {
        guard words.count > 2, words[words.count - 2] == "each" else { return parts(";") }
        let bounds = words[words.count - 1].split(separator: "-").compactMap { Int($0) }
        guard bounds.count == 2, bounds[0] <= bounds[1] else { throw error("\"each\" needs a range such as 1-9") }
        return (bounds[0]...bounds[1]).flatMap { value in
            let replaced = words.dropLast(2).map { word in
                word.split(separator: "*", omittingEmptySubsequences: false).joined(separator: String(value))
            }
            return ScenarioLine(file: file, number: number, words: replaced).parts(";")
        }
    }
}
