// What a client may say on the control socket: one line, in words or as a JSON object.

import FoundationEssentials

package struct Command: Equatable, Sendable {
    package enum Verb: String, CaseIterable, Sendable {
        case help
        case stats
        case status
    }

    package enum Form: Equatable, Sendable {
        case text
        case json
    }

    package let verb: Verb
    package let form: Form

    /// A request is a few words; longer lines are answered with an error.
    package static let maxLineBytes = 4096

    package init(_ verb: Verb, _ form: Form) {
        self.verb = verb
        self.form = form
    }

    /// What was wrong with a line, for the client to read.
    package struct Refusal: Error, Equatable {
        package let text: String
        package let form: Form

        /// "error: ..." so that a client can tell it from an answer; a JSON request gets a JSON object.
        package var reply: String {
            form == .text ? "error: \(text)\n" : JSONLine.render(["error": text])
        }
    }

    /// `stats`, `stats --json`, or `{"command":"stats"}`, which asks for JSON by its form.
    package init(parsing line: String) throws(Refusal) {
        guard line.utf8.count <= Command.maxLineBytes else {
            throw Refusal(text: "the line is longer than \(Command.maxLineBytes) bytes", form: .text)
        }
        let isObject = line.utf8.first { $0 != 0x20 } == UInt8(ascii: "{")
        let words =
            isObject
            ? try Command.words(ofObject: line) : line.split { $0 == " " || $0 == "\r" || $0 == "\t" }.map(String.init)
        var form: Form = isObject ? .json : .text
        guard let first = words.first else { throw Refusal(text: "an empty line; try \"help\"", form: form) }
        guard let verb = Verb(rawValue: first) else {
            let hint = Spelling.nearest(to: first, among: Verb.allCases.map(\.rawValue)).map {
                "; did you mean \"\($0)\"?"
            }
            throw Refusal(text: "unknown command \"\(first.prefix(40))\"\(hint ?? "; try \"help\"")", form: form)
        }
        for word in words.dropFirst() {
            guard word == "--json" else { throw Refusal(text: "unknown argument \"\(word.prefix(40))\"", form: form) }
            form = .json
        }
        self.init(verb, form)
    }

    /// The line that says this command.
    package var line: String { form == .json ? "\(verb.rawValue) --json" : verb.rawValue }

    package static let help = """
        help    this list
        stats   counters since the start; they are never reset (--json: one line of JSON)
        status  the daemon's state in a few lines

        """

    private static func words(ofObject line: String) throws(Refusal) -> [String] {
        struct Request: Decodable {
            let command: String
        }
        do {
            return [try JSONDecoder().decode(Request.self, from: Data(line.utf8)).command]
        } catch {
            throw Refusal(text: "not a request: {\"command\":\"NAME\"} is expected", form: .json)
        }
    }
}
