// A request on the control socket: one line of words, or a JSON object. Parses untrusted bytes into a request or a
// refusal, and executes nothing.

package import DNSWire
import JSON

package struct Request: Equatable, Sendable {
    package let command: Command
    package let wantsJSON: Bool

    /// Maximum size of a line. Longer lines are refused. It is enough for the maximum number of names in one command,
    /// each of maximum length.
    package static let maxLineBytes = 32 * 1024

    package init(_ command: Command, wantsJSON: Bool = false) {
        self.command = command
        self.wantsJSON = wantsJSON
    }

    /// Parses NAME [TYPE] as `explain` does, for a caller that has no request line.
    package static func question(_ name: String?, _ type: String?) throws(Refusal) -> Question {
        var fields = RequestFields(command: "explain")
        (fields.name, fields.type) = (name, type)
        return try fields.question()
    }

    /// Parses one line, with or without its line feed.
    package init(line: some Collection<UInt8>) throws(RefusedRequest) {
        var wantsJSON = false
        do throws(Refusal) {
            command = try Request.command(in: line, &wantsJSON)
        } catch {
            throw RefusedRequest(refusal: error, wantsJSON: wantsJSON)
        }
        self.wantsJSON = wantsJSON
    }

    private static func command(in line: some Collection<UInt8>, _ wantsJSON: inout Bool) throws(Refusal) -> Command {
        guard line.count <= maxLineBytes else { throw Refusal("the line is longer than \(maxLineBytes) bytes") }
        let bytes = Array(line)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Refusal("the line is not UTF-8") }
        var fields: RequestFields
        if bytes.first == UInt8(ascii: "{") {
            wantsJSON = true
            do {
                fields = try RequestFields(decoding: JSONValue(reading: bytes))
            } catch {
                throw Refusal("not a JSON object like {\"command\":\"stats\"}")
            }
        } else {
            let words = try words(of: text, &wantsJSON)
            guard let name = words.first else { throw Refusal("no command; \(allowed)") }
            fields = RequestFields(command: name)
            try fields.take(words.dropFirst().filter { $0 != "--json" }, of: word(name))
        }
        let command = try fields.command(word(fields.command))
        guard !wantsJSON || command != .stats(asPrometheus: true) else {
            throw Refusal("--prometheus is not allowed in JSON; allowed: \(Command.Word.stats.usage)")
        }
        return command
    }

    /// Splits the text into words. Only the values of rules may have blanks.
    private static func words(of text: String, _ wantsJSON: inout Bool) throws(Refusal) -> [String] {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        wantsJSON = words.contains("--json")
        guard words.first == Command.Word.rule.rawValue else { return words }
        guard let quoted = QuotedWords.split(text) else { throw Refusal("a double quote is not closed") }
        wantsJSON = quoted.contains("--json")
        return quoted
    }

    private static let allowed: String = {
        let words = Command.Word.allCases.filter { !$0.isCarriedOutByClient }
        return "allowed: \(words.map(\.rawValue).joined(separator: ", "))"
    }()

    private static func word(_ name: String) throws(Refusal) -> Command.Word {
        if let word = Command.Word(rawValue: name) { return word }
        let hint = nearest(to: name).map { "did you mean \"\($0)\"? " } ?? ""
        throw Refusal("unknown command \(quoted(name)); \(hint)\(allowed)")
    }

    /// Returns the command that shares the longest prefix and suffix with the name, if that is at least half of the
    /// command.
    private static func nearest(to name: String) -> Command.Word? {
        let ranked = Command.Word.allCases.map { command in
            let known = command.rawValue.utf8
            let beginning = zip(known, name.utf8).prefix { $0 == $1 }.count
            let end = zip(known.reversed(), name.utf8.reversed()).prefix { $0 == $1 }.count
            let shared = min(beginning + end, known.count)
            return (
                command: command, score: 2 * shared - known.count,
                isNear: 2 * shared >= max(known.count, name.utf8.count)
            )
        }
        return ranked.filter(\.isNear).max { $0.score < $1.score }?.command
    }
}

/// A line that is no request, with the form in which its sender wants the answer.
package struct RefusedRequest: Error {
    package let refusal: Refusal
    package let wantsJSON: Bool
}
