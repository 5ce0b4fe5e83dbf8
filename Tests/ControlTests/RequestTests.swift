// What a line means, and the exact words when it means nothing.

import Control
import TestSupport
import Testing

private func outcome(_ line: String) -> String {
    outcome(Array(line.utf8))
}

private func outcome(_ line: [UInt8]) -> String {
    do throws(Refusal) {
        let request = try Request(line: line)
        return "\(request.command)\(request.wantsJSON ? " as JSON" : "")"
    } catch {
        return Reply.refusal(error).rendered(asJSON: error.wantsJSON)
    }
}

private let allowed = "allowed: status, stats, help"

@Suite("Requests")
struct RequestTests {
    @Test(
        "a line is understood as words and as JSON",
        arguments: [
            ("status", "status"), ("stats\n", "stats"), ("  stats \t--json\r\n", "stats as JSON"), ("help", "help"),
            ("status --json", "status as JSON"), ("{\"command\":\"stats\"}", "stats as JSON"),
            ("{ \"command\" : \"help\", \"later\": 1 }\n", "help as JSON"),
        ])
    func understood(_ line: String, _ expected: String) {
        #expect(outcome(line) == expected)
    }

    @Test(
        "a line that means nothing is refused with what is allowed and the nearest command",
        arguments: [
            ("", "error: no command; \(allowed)\n"),
            (" \n", "error: no command; \(allowed)\n"),
            ("statz", "error: unknown command \"statz\"; did you mean \"stats\"? \(allowed)\n"),
            ("sttus", "error: unknown command \"sttus\"; did you mean \"status\"? \(allowed)\n"),
            ("hlp", "error: unknown command \"hlp\"; did you mean \"help\"? \(allowed)\n"),
            ("flush", "error: unknown command \"flush\"; \(allowed)\n"),
            ("STATS", "error: unknown command \"STATS\"; \(allowed)\n"),
            ("stats --reset", "error: unknown argument \"--reset\" of stats; allowed: --json\n"),
            ("stats -x --json", "{\"error\":\"unknown argument \\\"-x\\\" of stats; allowed: --json\"}\n"),
            ("--json", "{\"error\":\"unknown command \\\"--json\\\"; \(allowed)\"}\n"),
            ("a\u{1B}[2Jb", "error: unknown command \"a\\u{1B}[2Jb\"; \(allowed)\n"),
            (
                "{\"command\":\"stat\"}",
                "{\"error\":\"unknown command \\\"stat\\\"; did you mean \\\"stats\\\"? \(allowed)\"}\n"
            ),
            ("{", "{\"error\":\"not a JSON object like {\\\"command\\\":\\\"stats\\\"}\"}\n"),
            ("{}", "{\"error\":\"not a JSON object like {\\\"command\\\":\\\"stats\\\"}\"}\n"),
            ("{\"command\":1}", "{\"error\":\"not a JSON object like {\\\"command\\\":\\\"stats\\\"}\"}\n"),
        ])
    func refused(_ line: String, _ expected: String) {
        #expect(outcome(line) == expected)
        #expect(Reply.isRefusal(outcome(line).utf8))
    }

    @Test("a line of 4096 bytes is read, a longer one refused, and what is shown of it is short")
    func length() {
        let long = String(repeating: "x", count: 4096)
        #expect(outcome(long) == "error: unknown command \"\(long.prefix(60))\"...; \(allowed)\n")
        #expect(outcome(long + "x") == "error: the line is longer than 4096 bytes\n")
        #expect(outcome(String(repeating: " ", count: 4090) + "status") == "status")
    }

    @Test("bytes that are not UTF-8 are refused")
    func notUTF8() {
        #expect(outcome([0x73, 0xFF]) == "error: the line is not UTF-8\n")
        #expect(outcome([0x7B, 0xC3]) == "error: the line is not UTF-8\n")
    }

    @Test("random bytes are a request or a refusal of one printable line")
    func randomBytes() {
        let seed: UInt64 = 0xC0_57_20
        var random = SeededRandom(seed: seed)
        let pieces = ["stats", " ", "--json", "{", "}", "\"", ":", "command", "[", "\\u00", "1", "\0", "\n", "é"]
        for round in 0..<3000 {
            var line = (0..<Int.random(in: 0..<12, using: &random)).flatMap { _ in
                Array((pieces.randomElement(using: &random) ?? "").utf8)
            }
            if round.isMultiple(of: 4) { line.append(UInt8.random(in: 0...255, using: &random)) }
            let text = outcome(line)
            let isPrintable = text.unicodeScalars.dropLast().allSatisfy { $0.value >= 0x20 && $0.value < 0x7F }
            #expect(isPrintable, "seed \(seed) round \(round): \(text)")
        }
    }
}

@Suite("Command line of httpdnsctl")
struct InvocationTests {
    private func outcome(_ arguments: String...) -> String {
        do throws(UsageError) {
            return "\(try Invocation(arguments: arguments))"
        } catch {
            return "usage: \(error.reason)"
        }
    }

    @Test("options come before the command, and the rest goes to the daemon")
    func options() {
        let socket = "/run/httpdnsd/control.sock"
        #expect(outcome("status") == "ask(line: \"status\", socket: \"\(socket)\")")
        #expect(outcome("--json", "stats") == "ask(line: \"stats --json\", socket: \"\(socket)\")")
        #expect(outcome("stats", "--json") == "ask(line: \"stats --json\", socket: \"\(socket)\")")
        #expect(outcome("--json", "stats", "--json") == "ask(line: \"stats --json\", socket: \"\(socket)\")")
        #expect(outcome("--socket", "/s", "flush", "a") == "ask(line: \"flush a\", socket: \"/s\")")
        #expect(outcome("--version") == "showVersion")
        #expect(outcome("-h") == "showHelp")
        #expect(outcome("--help", "x") == "showHelp")
    }

    @Test("what cannot be meant is a usage error")
    func usage() {
        #expect(outcome() == "usage: no command")
        #expect(outcome("--json") == "usage: no command")
        #expect(outcome("--socket") == "usage: --socket needs a path")
        #expect(outcome("--socket", "") == "usage: --socket needs a path")
        #expect(outcome("--jsn", "stats") == "usage: unknown option --jsn")
        #expect(outcome("a\nb") == "usage: a command is one line")
    }
}
