// The operator's side of the control socket: arguments to one line, the answer to standard output.

import Control
import LinuxIO

struct Client {
    private static let standardSocket = "/run/httpdnsd/control.sock"
    /// Longer than the daemon lets a client wait.
    private static let timeout: Duration = .seconds(10)
    /// A report is a few kilobytes.
    private static let maxAnswerBytes = 16 << 20

    private enum ExitCode {
        static let ok: Int32 = 0
        static let failed: Int32 = 1
        static let unreachable: Int32 = 2
        static let usage: Int32 = 3
    }

    private struct UsageError: Error {
        let text: String
    }

    private var socket = Client.standardSocket
    private var asksJSON = false
    private var words: [String] = []
    private var output: String?

    static func run(_ arguments: [String]) -> Int32 {
        do throws(UsageError) {
            return try Client(arguments).exchange()
        } catch {
            StandardStreams.writeError("httpdnsctl: \(error.text)\n")
            return ExitCode.usage
        }
    }

    private init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--socket":
                guard let path = rest.popFirst() else { throw UsageError(text: "--socket needs a path; see --help") }
                socket = path
            case "--json": asksJSON = true
            case "--version": output = "httpdnsctl \(Version.current)\n"
            case "--help", "-h": output = Client.help
            default:
                guard !argument.hasPrefix("-") else { throw UsageError(text: "unknown option \(argument); see --help") }
                words.append(argument)
            }
        }
        if words.isEmpty, output == nil { throw UsageError(text: "a command is missing; see --help") }
    }

    private func exchange() throws(UsageError) -> Int32 {
        if let output {
            StandardStreams.writeOutput(output)
            return ExitCode.ok
        }
        let command: Command
        do throws(Command.Refusal) {
            command = try Command(parsing: (words + (asksJSON ? ["--json"] : [])).joined(separator: " "))
        } catch {
            throw UsageError(text: error.text)
        }
        do throws(SystemError) {
            let answer = try LocalExchange.ask(
                command.line, at: socket, timeout: Client.timeout, maxBytes: Client.maxAnswerBytes)
            StandardStreams.writeOutput(String(decoding: answer, as: UTF8.self))
            return answer.starts(with: "error:".utf8) ? ExitCode.failed : ExitCode.ok
        } catch {
            StandardStreams.writeError("httpdnsctl: cannot reach the daemon at \(socket): \(error)\n")
            StandardStreams.writeError("is httpdnsd running with this control.socket? another path: --socket PATH\n")
            return ExitCode.unreachable
        }
    }

    private static let help = """
        httpdnsctl [--socket PATH] [--json] COMMAND

        \(Command.help)
          --socket PATH  the daemon's control socket (default \(standardSocket))
          --json         the answer as one line of JSON

        Exit codes: 0 ok, 1 refused or failed, 2 cannot connect, 3 usage.

        """
}
