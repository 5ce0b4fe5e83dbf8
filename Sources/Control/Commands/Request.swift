// A request on the control socket: one line of words, or a JSON object. Parses untrusted bytes into a request or a
// refusal, and executes nothing.

package import DNSWire
import FoundationEssentials

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
        do throws(RequestFault) {
            return try fields.question()
        } catch {
            throw Refusal(error.reason)
        }
    }

    /// Parses one line, with or without its line feed.
    package init(line: some Collection<UInt8>) throws(Refusal) {
        guard line.count <= Request.maxLineBytes else {
            throw Refusal("the line is longer than \(Request.maxLineBytes) bytes")
        }
        let bytes = Array(line)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Refusal("the line is not UTF-8") }
        if bytes.first == UInt8(ascii: "{") {
            self = try Request(json: bytes)
        } else {
            self = try Request(words: try Request.words(of: text))
        }
    }

    /// Splits the text into words. Only the values of rules may have blanks.
    private static func words(of text: String) throws(Refusal) -> [String] {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.first == Command.Word.rule.rawValue else { return words }
        guard let quoted = QuotedWords.split(text) else {
            throw Refusal("a double quote is not closed", wantsJSON: words.contains("--json"))
        }
        return quoted
    }

    private init(words: [String]) throws(Refusal) {
        let wantsJSON = words.contains("--json")
        guard let name = words.first else { throw Refusal("no command; \(Request.allowed)") }
        let word = try Request.word(name, wantsJSON: wantsJSON)
        var fields = RequestFields(command: name)
        do throws(RequestFault) {
            try fields.take(words.dropFirst().filter { $0 != "--json" }, of: word)
            self.init(try Request.consistent(fields.command(word), wantsJSON: wantsJSON), wantsJSON: wantsJSON)
        } catch {
            throw Refusal(error.reason, wantsJSON: wantsJSON)
        }
    }

    private init(json: [UInt8]) throws(Refusal) {
        let fields: RequestFields
        do {
            fields = try JSONDecoder().decode(RequestFields.self, from: Data(json))
        } catch {
            throw Refusal("not a JSON object like {\"command\":\"stats\"}", wantsJSON: true)
        }
        let word = try Request.word(fields.command, wantsJSON: true)
        do throws(RequestFault) {
            self.init(try Request.consistent(fields.command(word), wantsJSON: true), wantsJSON: true)
        } catch {
            throw Refusal(error.reason, wantsJSON: true)
        }
    }

    private static func consistent(_ command: Command, wantsJSON: Bool) throws(RequestFault) -> Command {
        guard wantsJSON, command == .stats(asPrometheus: true) else { return command }
        throw RequestFault("--prometheus is not allowed in JSON; allowed: \(Command.Word.stats.usage)")
    }

    private static let allowed: String = {
        let words = Command.Word.allCases.filter { !$0.isCarriedOutByClient }
        return "allowed: \(words.map(\.rawValue).joined(separator: ", "))"
    }()

    private static func word(_ name: String, wantsJSON: Bool) throws(Refusal) -> Command.Word {
        if let word = Command.Word(rawValue: name) { return word }
        let hint = nearest(to: name).map { "did you mean \"\($0)\"? " } ?? ""
        throw Refusal("unknown command \(quoted(name)); \(hint)\(allowed)", wantsJSON: wantsJSON)
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

/// Why a request was refused. The text is safe to print.
package struct Refusal: Error, Equatable, Sendable {
    package let reason: String
    package let wantsJSON: Bool

    package init(_ reason: String, wantsJSON: Bool = false) {
        self.reason = reason
        self.wantsJSON = wantsJSON
    }

    func text(asJSON: Bool) -> String { asJSON ? json(["error": reason]) : "error: \(reason)\n" }
}
