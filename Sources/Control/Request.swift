// What a client of the control socket asks: one line, as words or as a JSON object. Bytes from anybody who may open
// the socket become a request or a refusal here; nothing is carried out.

import FoundationEssentials

package enum Command: String, CaseIterable, Sendable {
    case status, stats, help
}

package struct Request: Equatable, Sendable {
    package let command: Command
    package let wantsJSON: Bool

    /// Longer lines are refused. Room for every command with the longest domain name, many times over.
    package static let maxLineBytes = 4096

    package init(_ command: Command, wantsJSON: Bool = false) {
        self.command = command
        self.wantsJSON = wantsJSON
    }

    /// Reads one line, with or without its end.
    package init(line: some Collection<UInt8>) throws(Refusal) {
        guard line.count <= Request.maxLineBytes else {
            throw Refusal("the line is longer than \(Request.maxLineBytes) bytes")
        }
        let bytes = Array(line)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Refusal("the line is not UTF-8") }
        if bytes.first == UInt8(ascii: "{") {
            self = try Request(json: bytes)
        } else {
            self = try Request(words: text.split(whereSeparator: \.isWhitespace).map(String.init))
        }
    }

    private init(words: [String]) throws(Refusal) {
        let wantsJSON = words.contains("--json")
        guard let name = words.first else { throw Refusal("no command; \(Request.allowed)") }
        let command = try Request.command(name, wantsJSON: wantsJSON)
        if let other = words.dropFirst().first(where: { $0 != "--json" }) {
            throw Refusal("unknown argument \(quoted(other)) of \(command); allowed: --json", wantsJSON: wantsJSON)
        }
        self.init(command, wantsJSON: wantsJSON)
    }

    private init(json: [UInt8]) throws(Refusal) {
        struct Object: Decodable {
            let command: String
        }
        let object: Object
        do {
            object = try JSONDecoder().decode(Object.self, from: Data(json))
        } catch {
            throw Refusal("not a JSON object like {\"command\":\"stats\"}", wantsJSON: true)
        }
        self.init(try Request.command(object.command, wantsJSON: true), wantsJSON: true)
    }

    private static let allowed = "allowed: \(Command.allCases.map(\.rawValue).joined(separator: ", "))"

    private static func command(_ name: String, wantsJSON: Bool) throws(Refusal) -> Command {
        if let command = Command(rawValue: name) { return command }
        let hint = nearest(to: name).map { "did you mean \"\($0)\"? " } ?? ""
        throw Refusal("unknown command \(quoted(name)); \(hint)\(allowed)", wantsJSON: wantsJSON)
    }

    /// The command that shares most of its beginning and end with the name, if that is half of it or more.
    private static func nearest(to name: String) -> Command? {
        let ranked = Command.allCases.map { command in
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

/// Why a line got no answer. The text is for people, and safe to print.
package struct Refusal: Error, Equatable, Sendable {
    package let reason: String
    package let wantsJSON: Bool

    package init(_ reason: String, wantsJSON: Bool = false) {
        self.reason = reason
        self.wantsJSON = wantsJSON
    }
}

/// Cut, and with everything escaped that could move a terminal's cursor.
private func quoted(_ text: String) -> String {
    let maxShown = 60
    let shown = text.unicodeScalars.prefix(maxShown).map { $0.escaped(asASCII: true) }.joined()
    return "\"\(shown)\"" + (text.unicodeScalars.count > maxShown ? "..." : "")
}
