// The table of commands, compared with help, refusals and shell completion, which depend on it.

import TestSupport
import Testing

@testable import Control

@Suite("Guide to the commands")
struct CommandGuideTests {
    private func help(_ line: String) throws -> String {
        let request = try Request(line: Array(line.utf8))
        guard case .help(let word) = request.command else { return "no help" }
        return Reply.help(word).rendered(asJSON: request.wantsJSON)
    }

    @Test("help lists every command, on lines that fit into a wide terminal")
    func overview() throws {
        let text = try help("help")
        let words = Set(text.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) })
        for word in Command.Word.allCases { #expect(words.contains(word.rawValue), "\(word)") }
        for line in text.split(separator: "\n") { #expect(line.count <= 120, "\(line)") }
    }

    @Test("help about a command has its forms, its options, and the users that may give it")
    func oneCommand() throws {
        #expect(
            try help("help log") == """
                log LEVEL [--for DURATION]
                    sets the log level until the next change or reload
                    LEVEL           error, warning, info, debug
                    --for DURATION  for this time; then the level of the settings applies
                Example: httpdnsctl log debug --for 5m
                Only root and the daemon's own user and group may run it.
                With --json: one JSON object per line.

                """)
        #expect(try help("help status").contains("Every user who can open the socket"))
        #expect(outcome("help nonsense") == "error: no command \"nonsense\"; see help\n")
        #expect(outcome("help a b") == "error: unknown argument \"b\" of help; allowed: help [COMMAND]\n")
    }

    @Test("help about a command that httpdnsctl carries out itself does not speak of the daemon's socket")
    func clientCommands() throws {
        for word in ["system", "doctor", "setup", "report-bug"] {
            let text = try help("help \(word)")
            #expect(!text.contains("socket"), "\(word)")
            #expect(text.contains("\nhttpdnsctl carries it out itself, with the rights of the user who runs it.\n"))
        }
        #expect(try help("help setup").hasPrefix("setup [--replace] [--dry-run] [--output FILE] [ANSWERS]\n"))
    }

    @Test("help as JSON has the same forms")
    func asJSON() throws {
        #expect(
            try help("help --json reload")
                == #"{"commands":["reload"],"forms":[{"command":"reload","options":[],"#
                + #""summary":"reloads the settings and reports the result","usage":"reload"}]}"# + "\n")
        for word in Command.Word.allCases { #expect(try help("help --json").contains("\"\(word.rawValue)\"")) }
    }

    @Test("help and the access rights reserve the same commands for root")
    func reserved() throws {
        let examples: [Command.Word: String] = [
            .flush: "flush --all", .prefetch: "prefetch a", .httpdns: "httpdns on", .verify: "verify a",
            .log: "log info", .reload: "reload",
        ]
        for word in Command.Word.allCases {
            let isForRoot = try help("help \(word.rawValue)").contains(
                "Only root and the daemon's own user and group may run it.")
            #expect(isForRoot == (examples[word] != nil), "\(word)")
            guard let line = examples[word] else { continue }
            #expect(try Request(line: Array(line.utf8)).command.reservedWords == word.rawValue, "\(line)")
        }
    }
}

@Suite("Completion")
struct CompletionTests {
    @Test("shells complete exactly what the table has", arguments: ["httpdnsctl.bash", "_httpdnsctl"])
    func words(_ file: String) throws {
        let top = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
        let text = String(decoding: try TestFile.bytes(at: "\(top)/etc/completion/\(file)"), as: UTF8.self)
        var found: [String: Set<String>] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].hasSuffix(") echo ") else { continue }
            let command = parts[0].drop { $0 == " " }.prefix { $0 != ")" }
            found[String(command)] = Set(parts[1].split(separator: " ").map(String.init))
        }
        let completions = Command.Word.allCases.map { ($0.rawValue, $0.completions) }
        #expect(found == Dictionary(uniqueKeysWithValues: completions))
        let commands = text.firstRange(of: "_httpdnsctl_commands=\"").map { text[$0.upperBound...] } ?? ""
        let listed = commands.prefix { $0 != "\"" }.split { " \n".contains($0) }.map(String.init)
        #expect(listed == Command.Word.allCases.map(\.rawValue))
    }
}

extension Command.Word {
    /// The literal words that may follow the command: verbs, options and levels.
    fileprivate var completions: Set<String> {
        let forms = forms
        let options = forms.flatMap(\.options).map(\.usage)
        let pieces =
            forms.flatMap { $0.usage.split { " []|".contains($0) }.dropFirst().map(String.init) }
            + options.compactMap { $0.split(separator: " ").first.map(String.init) }
        let smallLetters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let asTheyAre = pieces.filter {
            $0.utf8.allSatisfy { $0 == UInt8(ascii: "-") || smallLetters.contains($0) }
        }
        let levels = self == .log ? LogLevel.allCases.map(\.rawValue) : []
        return Set(asTheyAre + levels + ["--json"])
    }
}
