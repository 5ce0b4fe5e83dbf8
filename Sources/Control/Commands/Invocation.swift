// The command line of httpdnsctl, parsed, with its usage errors. Opens no files.

package enum Invocation: Equatable, Sendable {
    case ask(line: String, socket: String)
    /// A screen that is redrawn each second, if there is a terminal.
    case top(socket: String)
    /// The changes of `stats` each second.
    case watchStats(socket: String, wantsJSON: Bool)
    /// Reads a file that the flight recorder has written. Needs no daemon.
    case readRecords(path: String, wantsJSON: Bool, showsClients: Bool)
    /// Shows or changes which nameserver this machine uses.
    case system(SystemAction, socket: String, wantsJSON: Bool)
    /// Runs the checks. Nil settings: the daemon's default path.
    case doctor(settings: String?, socket: String, wantsJSON: Bool)
    /// The arguments after `setup`, which httpdnsctl reads.
    case setup([String], socket: String, wantsJSON: Bool)
    /// Writes a report. Nil output: a file named after the time.
    case reportBug(output: String?, settings: String?, socket: String, wantsJSON: Bool)
    /// Shows help. Nil: the overview of all commands.
    case help(Command.Word?, wantsJSON: Bool)
    case showVersion
    case showUsage

    package static let defaultSocket = "/run/httpdnsd/control.sock"
    package static let socketVariable = "HTTPDNSD_SOCKET"
    /// The name for standard output in place of the file of `report-bug`.
    package static let standardOutput = "-"

    /// Parses a command line. Options precede the command. All arguments after it belong to the command, and the daemon
    /// checks them.
    ///
    /// - Parameters:
    ///   - arguments: the arguments without the name of the program.
    ///   - socket: the value of `socketVariable`; nil or empty: the default socket.
    package init(arguments: [String], socket preset: String? = nil) throws(UsageError) {
        var socket = preset.flatMap { $0.isEmpty ? nil : $0 } ?? Invocation.defaultSocket
        var wantsJSON = false
        var rest = arguments[...]
        while let option = rest.first, option.hasPrefix("-") {
            rest.removeFirst()
            switch option {
            case "--json": wantsJSON = true
            case "--version":
                self = .showVersion
                return
            case "--help", "-h":
                self = .showUsage
                return
            case "--socket":
                guard let path = rest.popFirst(), !path.isEmpty else { throw UsageError("--socket needs a path") }
                socket = path
            default: throw UsageError("unknown option \(option)")
            }
        }
        guard !rest.isEmpty else { throw UsageError("no command") }
        if let help = try Invocation.help(Array(rest), wantsJSON: wantsJSON) {
            self = help
            return
        }
        if let file = try Invocation.recordFile(Array(rest), wantsJSON: wantsJSON) {
            self = file
            return
        }
        if let own = try Invocation(ofClient: Array(rest), socket: socket, wantsJSON: wantsJSON) {
            self = own
            return
        }
        let words = rest.first == Command.Word.rule.rawValue ? rest.map(QuotedWords.quoted) : Array(rest)
        let line = (words + (wantsJSON && !words.contains("--json") ? ["--json"] : [])).joined(separator: " ")
        guard !line.utf8.contains(UInt8(ascii: "\n")) else { throw UsageError("a command is one line") }
        self = .ask(line: line, socket: socket)
    }

    /// Parses commands that httpdnsctl runs itself. Nil: the daemon runs the command.
    private init?(ofClient words: [String], socket: String, wantsJSON: Bool) throws(UsageError) {
        let rest = words.filter { $0 != "--json" }
        let wantsJSON = wantsJSON || rest.count < words.count
        if rest == [Command.Word.top.rawValue], !wantsJSON {
            self = .top(socket: socket)
        } else if rest.first == Command.Word.stats.rawValue, rest.contains(Invocation.watchOption) {
            guard rest.count == 2 else {
                throw UsageError("\(Invocation.watchOption) of stats takes no other argument than --json")
            }
            self = .watchStats(socket: socket, wantsJSON: wantsJSON)
        } else if rest.first == Command.Word.system.rawValue {
            self = .system(try SystemAction(Array(rest.dropFirst())), socket: socket, wantsJSON: wantsJSON)
        } else if rest.first == Command.Word.doctor.rawValue {
            let files = try Invocation.files(rest.dropFirst(), of: .doctor, options: ["--config"])
            self = .doctor(settings: files["--config"], socket: socket, wantsJSON: wantsJSON)
        } else if rest.first == Command.Word.setup.rawValue {
            self = .setup(Array(rest.dropFirst()), socket: socket, wantsJSON: wantsJSON)
        } else if rest.first == Command.Word.reportBug.rawValue {
            let files = try Invocation.files(rest.dropFirst(), of: .reportBug, options: ["--output", "--config"])
            guard !wantsJSON || files["--output"] != Invocation.standardOutput else {
                throw UsageError("report-bug --output - prints the report, which is text; leave out --json")
            }
            self = .reportBug(
                output: files["--output"], settings: files["--config"], socket: socket, wantsJSON: wantsJSON)
        } else {
            return nil
        }
    }

    /// Parses a request for help. Nil unless the words are `help`, `help COMMAND` or a command with `--help` or `-h`.
    private static func help(_ words: [String], wantsJSON: Bool) throws(UsageError) -> Invocation? {
        let isOption = { (word: String) in word == "--help" || word == "-h" }
        let rest = words.filter { !isOption($0) }
        let help = Command.Word.help.rawValue
        guard let first = rest.first, first == help || rest.count < words.count else { return nil }
        let asked = first == help ? rest : [help, first]
        do throws(RefusedRequest) {
            let request = try Request(line: Array(asked.joined(separator: " ").utf8))
            guard case .help(let word) = request.command else { return nil }
            return .help(word, wantsJSON: wantsJSON || words.contains("--json"))
        } catch {
            throw UsageError(error.refusal.reason)
        }
    }

    /// Returns the files by their options, each at most once.
    private static func files(
        _ words: ArraySlice<String>, of command: Command.Word, options: [String]
    ) throws(UsageError) -> [String: String] {
        var files: [String: String] = [:]
        var rest = words
        while let option = rest.popFirst() {
            guard options.contains(option), files[option] == nil, let path = rest.popFirst(), !path.isEmpty else {
                throw UsageError("unknown arguments of \(command.rawValue); allowed: \(command.usage)")
            }
            files[option] = path
        }
        return files
    }

    private static let watchOption = "--watch"

    /// Parses `recorder read`; nil for any other command.
    private static func recordFile(_ words: [String], wantsJSON: Bool) throws(UsageError) -> Invocation? {
        guard words.starts(with: ["recorder", "read"]) else { return nil }
        let options: Set<String> = ["--json", "--clients"]
        let paths = words.dropFirst(2).filter { !options.contains($0) }
        guard let path = paths.first, paths.count == 1, !path.isEmpty, !path.hasPrefix("-") else {
            throw UsageError("recorder read needs one file; allowed: recorder read FILE [--json] [--clients]")
        }
        return .readRecords(
            path: path, wantsJSON: wantsJSON || words.contains("--json"), showsClients: words.contains("--clients"))
    }

    package static let usage = """
        usage: httpdnsctl [--socket PATH] [--json] COMMAND [ARGS]
               httpdnsctl recorder read FILE [--json] [--clients]
               httpdnsctl system use|restore|status
               httpdnsctl doctor [--config FILE]
               httpdnsctl setup [--replace] [--dry-run] [--output FILE] [ANSWERS]
               httpdnsctl report-bug [--output FILE] [--config FILE]
               httpdnsctl --version | --help

        "httpdnsctl help" lists the commands, and "httpdnsctl help COMMAND" shows one with an example.
        The socket is PATH, else that of $\(socketVariable), else \(defaultSocket).
        Exit codes: 0 ok, 1 refused or failed, 2 cannot connect, 3 usage.

        """
}
